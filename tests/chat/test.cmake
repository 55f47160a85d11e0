set(libraries tw_hub)
set(labels chat sanitized_asan)

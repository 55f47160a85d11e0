set(libraries tw_hub tw_base tw_tensor)
set(labels hub sanitized_asan)

set(libraries tw_hub tw_hub_server tw_tensor tw_base)
set(labels hub sanitized_asan sanitized_tsan)
set(timeout 300)

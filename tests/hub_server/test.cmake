set(libraries tw_hub_server)
set(labels hub sanitized_asan sanitized_tsan)

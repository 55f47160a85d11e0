set(libraries tw_base)
set(labels base sanitized_asan sanitized_tsan)

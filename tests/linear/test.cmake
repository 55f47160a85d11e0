set(libraries tw_backends_host)
set(labels linear sanitized_asan)

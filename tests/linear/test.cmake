set(libraries tw_backends_host_linear)
set(labels linear sanitized_asan)

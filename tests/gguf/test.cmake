set(libraries tw_hub)
set(labels gguf sanitized_asan)

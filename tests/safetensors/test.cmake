set(libraries tw_hub)
set(labels safetensors sanitized_asan)

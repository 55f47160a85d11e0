set(libraries tw_hub tw_hub_server tw_tensor tw_base)
set(labels real)
set(timeout 300)

set(libraries tw_hub_server)
set(labels real)
set(timeout 300)

set(libraries tw_hub)

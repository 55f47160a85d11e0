set(libraries tw_base)

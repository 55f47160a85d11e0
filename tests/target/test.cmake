set(libraries tw_target)

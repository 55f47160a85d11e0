set(libraries tw_ops_core)

set(libraries tw_backends_host)

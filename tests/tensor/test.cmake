set(libraries tw_tensor)

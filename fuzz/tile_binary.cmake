set(libraries tw_tile)

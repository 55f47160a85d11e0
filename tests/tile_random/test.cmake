set(libraries tw_tile)
set(labels tile_fuzz)

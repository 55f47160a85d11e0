set(libraries tw_tile)
set(labels tile_ir sanitized_asan)

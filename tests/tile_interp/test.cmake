set(libraries tw_tile)
set(labels tile_interp sanitized_asan)

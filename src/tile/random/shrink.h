// Makes a failing case small while it keeps failing.
#pragma once

#include <functional>

#include "tile/random/tile_case.h"

namespace tilewright::tile {

// `fails` is asked about smaller and smaller cases, at most `attempts` times; it must say no to cases that are wrong by
// themselves. Removes writes, loops (one iteration takes their place), nodes (an operand or a constant takes theirs),
// tensors, dims; shrinks dims; makes data plain. The result fails.
TileCase shrink(TileCase tile_case, const std::function<bool(const TileCase&)>& fails, int attempts = 3000);

// Nodes in blocks.
int live_nodes(const Program& program);

}  // namespace tilewright::tile

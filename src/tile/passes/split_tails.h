// Splits sequential loops whose tiles are whole in every iteration but the last: one loop over whole tiles, from which
// the valid extents are gone, and one of at most one iteration over the rest. Parallel loops stay as they are: they are
// the grid.
#pragma once

#include <cstdint>

#include "tile/ir/program.h"

namespace tilewright::tile {

struct SplitOptions {
  std::int64_t most_step = 1 << 24;  // loops of larger steps are left alone
  std::size_t most_nodes = 64;       // bodies of more nodes are not doubled
};

Program split_tails(Program program, const SplitOptions& options = {});

}  // namespace tilewright::tile

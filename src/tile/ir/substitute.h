// A program with its tile parameters replaced by numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

// `sizes`: one per tile parameter. Types and index constants that name a parameter become numbers;
// TileParameter::chosen records them.
Program with_tiles(Program program, const std::vector<std::int64_t>& sizes);

}  // namespace tilewright::tile

// Vector width and unrolling of every nest: full vectors times unroll, then single vectors, then a tail that is masked
// or scalar as the level has it.
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

// `lanes`: f32 elements of a vector register. Sets Plan::vector and Plan::unroll of every node with a nest number (run
// fuse first); all roots of a nest get the same.
Program vectorise(Program program, int lanes);

}  // namespace tilewright::tile

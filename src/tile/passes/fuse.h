// Element-wise fusion: decides which tiles get memory and which roots (assemble, reductions along columns, stored
// tiles) are computed in one pair of loops, so that everything else stays in registers.
//
// Afterwards every root, matmul, top_k and loop has a nest number; within a block the numbers give the order of
// execution. Roots of one number run over the same rows and columns, and depend on one another only at the same
// element. Stored are: operands of matmul that are not plain views, operands of top_k and of reshape, next values of
// carried tiles, and costly tiles (exp, division …) that two nests or an inner loop would compute again.
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

Program fuse(Program program);

}  // namespace tilewright::tile

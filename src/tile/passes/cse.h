// Common subexpressions: of two nodes that compute the same, in one block or one in a block around the other's, the
// first stays. Reads of tensors count too: inputs do not change while a program runs, and outputs are never read.
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

Program cse(Program program);

}  // namespace tilewright::tile

// Drops what no assemble needs: nodes, loops without effect, carried tiles that only carry themselves.
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

Program dead_code(Program program);

}  // namespace tilewright::tile

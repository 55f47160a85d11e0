// Gives every tile parameter a size: what the user set, else the combination of choices that tile/cost predicts to be
// fastest within the target's buffer budget.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tile/cost/cost.h"
#include "tile/ir/program.h"

namespace tilewright::tile {

// Throws Error if `overrides` names no tile parameter or sets a size that is none of its choices, and, naming the
// operator at the peak, if nothing fits. Of equal predictions the larger tiles win.
Program choose_tiles(Program program, const TileTarget& target, const CostQuestion& question = {},
                     const std::map<std::string, std::int64_t>& overrides = {});

}  // namespace tilewright::tile

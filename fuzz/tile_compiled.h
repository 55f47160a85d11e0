// Compiled code as a subject of tile_differential: lowers, compiles in the module, maps, runs.
#pragma once

#include <string>
#include <vector>

#include "tile/random/differential.h"

namespace tilewright::tile {

// Levels that this processor runs, best last. Empty where nothing can be compiled.
std::vector<std::string> compiled_levels();

// `options` go to the compiler: "fault=wrong_tail_mask". Reads and writes outside the tensors' pages are an Error.
Subject compiled(const std::string& level, const std::string& options = "");

}  // namespace tilewright::tile

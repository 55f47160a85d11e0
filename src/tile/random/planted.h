// Ten faults that a compiler could have, put into programs on purpose, to measure what random programs find. Each is
// made in the lowered program or the arguments and runs in the interpreter; the compiler of llvm/ takes the same names
// (option fault=NAME) and makes them in its code.
#pragma once

#include <string>
#include <vector>

#include "tile/random/differential.h"

namespace tilewright::tile {

const std::vector<std::string>& planted_faults();

// Throws Error for a name that is none.
Subject with_planted_fault(const std::string& name);

}  // namespace tilewright::tile

// Which operator runs how on which devices, read from the registry.
#pragma once

#include <string>

#include "ops/core/registry.h"

namespace tilewright::ops {

// Two Markdown tables, composites and small ops: name, formula, what it decomposes into, and for every kernel family
// that has any kernel the names of the candidates in the order in which they are asked.
std::string support_table(const Registry& registry);

}  // namespace tilewright::ops

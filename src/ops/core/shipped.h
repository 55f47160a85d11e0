// Which specialisations of a tile kernel are compiled when the project is built.
#pragma once

#include <span>
#include <vector>

#include "ops/core/case_file.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

// The kernel's own list, and what the operator's cases marked "bench" lead to: they are the shapes that models have. A
// case that the kernel refuses adds nothing. Each specialisation once. After this the kernel can `build` all of them.
std::vector<Specialisation> shipped_specialisations(const Op& op, const TileKernel& kernel,
                                                    std::span<const OpCase> cases);

}  // namespace tilewright::ops

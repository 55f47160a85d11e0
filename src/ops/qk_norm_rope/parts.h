// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

std::vector<HostTensor> qk_norm_rope_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition qk_norm_rope_decomposition();
TileKernel qk_norm_rope_kernel();

}  // namespace tilewright::ops

// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

std::vector<HostTensor> attention_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition attention_decomposition();
TileKernel attention_kernel();

}  // namespace tilewright::ops

// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

std::vector<HostTensor> moe_gate_top_k_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition moe_gate_top_k_decomposition();
TileKernel moe_gate_top_k_kernel();

}  // namespace tilewright::ops

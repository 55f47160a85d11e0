// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"

namespace tilewright::ops {

std::vector<HostTensor> moe_gate_top_k_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition moe_gate_top_k_decomposition();

}  // namespace tilewright::ops

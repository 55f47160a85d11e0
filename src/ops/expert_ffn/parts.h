// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"

namespace tilewright::ops {

std::vector<HostTensor> expert_ffn_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition expert_ffn_decomposition();

}  // namespace tilewright::ops

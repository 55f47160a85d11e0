// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"

namespace tilewright::ops {

std::vector<HostTensor> qk_norm_rope_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition qk_norm_rope_decomposition();

}  // namespace tilewright::ops

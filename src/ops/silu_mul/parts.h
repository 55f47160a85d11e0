// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"

namespace tilewright::ops {

std::vector<HostTensor> silu_mul_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition silu_mul_decomposition();

}  // namespace tilewright::ops

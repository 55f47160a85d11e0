// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/op.h"

namespace tilewright::ops {

std::vector<HostTensor> scaled_masked_softmax_reference(std::span<const HostTensor> inputs,
                                                        const Attributes& attributes);
Decomposition scaled_masked_softmax_decomposition();

}  // namespace tilewright::ops

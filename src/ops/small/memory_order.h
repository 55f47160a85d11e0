// Strides of the output of an elementwise op or a cast, as torch's TensorIterator chooses them; later copies depend on
// them.
#pragma once

#include <span>

#include "runtime/tensor.h"

namespace tilewright::ops {

// `operands` broadcast to `shape`. The output is dense, its dims in the memory order of the first operand that tells
// two of them apart (broadcast dims tell nothing); contiguous where all operands of that shape are. Source of the rule:
// aten/src/ATen/TensorIterator.cpp, reorder_dimensions and fast set-up.
Strides elementwise_strides(const Shape& shape, std::span<const runtime::Tensor> operands);

}  // namespace tilewright::ops

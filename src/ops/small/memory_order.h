// Strides of the output of an elementwise op, as torch's TensorIterator chooses them; later copies depend on them.
#pragma once

#include <span>

#include "runtime/tensor.h"

namespace tilewright::ops {

// `operands` broadcast to `shape`. The output is dense, its dims in the memory order of the first operand that tells
// two of them apart (broadcast dims tell nothing); contiguous where all operands of that shape are. Source of the rule:
// aten/src/ATen/TensorIterator.cpp, reorder_dimensions and fast set-up.
Strides elementwise_strides(const Shape& shape, std::span<const runtime::Tensor> operands);

// The strides that a cast keeps: those of `tensor` if its elements fill a block of memory without gaps, else
// contiguous.
Strides preserved_strides(const runtime::Tensor& tensor);

}  // namespace tilewright::ops

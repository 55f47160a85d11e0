// Rows sorted by group, each group times its own matrix: the linear layers of a mixture of experts.
#pragma once

#include "ops/core/context.h"
#include "ops/core/packing.h"

namespace tilewright::ops {

// x [N, K]; weights [E, M, K] of its dtype (or f16, bf16 where x is f32), strided or packed_experts; offsets [E + 1]
// i32 on the device, ascending, from 0 to N. Rows offsets[e] … offsets[e + 1] - 1 are multiplied by weights[e]ᵀ, rows
// outside every group are zero. Returns [N, M] of x's dtype. The decomposition reads the offsets on the host: it
// waits for the stream and cannot be captured.
inline Tensor grouped_gemm(Context& context, const Tensor& x, const Tensor& weights, const Tensor& offsets) {
  static constexpr OpName kName{"grouped_gemm"};
  return call(context, kName, {x, weights, offsets});
}

// Packed matrices [m, k] of all experts in one buffer, expert e's beginning e · packer.packed_bytes(dtype, m, k) bytes
// behind the first (stride 0 of the result, in elements).
inline Tensor packed_experts(const WeightPacker& packer, const runtime::MemoryRef& memory, std::size_t byte_offset,
                             DType dtype, std::int64_t experts, std::int64_t m, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  return Tensor(memory, dtype, {experts, m, k},
                {static_cast<std::int64_t>(packer.packed_bytes(dtype, m, k)) / size, k, 1},
                static_cast<std::int64_t>(byte_offset) / size, packer.layout(dtype));
}

// The matrix [M, K] of one expert, strided or packed as `weights` is.
inline Tensor expert_matrix(const Tensor& weights, std::int64_t expert) {
  if (weights.layout() == Layout::strided) return weights.select(0, expert);
  return Tensor(weights.memory_ref(), weights.dtype(), {weights.dim(1), weights.dim(2)}, {weights.dim(2), 1},
                weights.offset() + expert * weights.strides()[0], weights.layout());
}

}  // namespace tilewright::ops

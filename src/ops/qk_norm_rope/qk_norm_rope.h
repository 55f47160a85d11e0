// From projections to rotated heads: splits into heads, rms_norm over each head, rope; q and k in one call.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

struct QkNormRope {
  Tensor q, k;
};
// q [B, S, heads·D], k [B, S, kv heads·D] with unit stride in the last dim, weights [D], cos and sin [B or 1, S, D]; D
// even, one dtype (f32, f16, bf16). Returns q [B, heads, S, D] and k [B, kv heads, S, D].
inline QkNormRope qk_norm_rope(Context& context, const Tensor& q, const Tensor& k, const Tensor& q_weight,
                               const Tensor& k_weight, const Tensor& cos, const Tensor& sin, double eps) {
  static constexpr OpName kName{"qk_norm_rope"};
  Tensors out = call_all(context, kName, {q, k, q_weight, k_weight, cos, sin}, {{"eps", eps}});
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace tilewright::ops

// Rotates queries and keys by their positions: with x1, x2 the halves of a head,
// o1 = x1·cos1 − x2·sin1, o2 = x2·cos2 + x1·sin2 (cos and sin usually repeat their first half).
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

struct Rope {
  Tensor q, k;
};
// q [B, heads, S, D], k [B, kv heads, S, D] of any strides, cos and sin [B or 1, S, D]; D even, one dtype (f32, f16,
// bf16). Results have the shapes of q and k; the decomposition keeps their order in memory.
inline Rope rope(Context& context, const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin) {
  static constexpr OpName kName{"rope"};
  Tensors out = call_all(context, kName, {q, k, cos, sin});
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace tilewright::ops

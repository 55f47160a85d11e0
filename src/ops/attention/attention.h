// softmax(q·kᵀ · scale + mask) · v with grouped heads: query head h uses key/value head h / (heads / kv heads).
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// q [B, heads, S, D], k and v [B, kv heads, K, D] (any strides with unit stride in the last dim; a slice of the cache
// is one), mask additive [B or 1, 1, S, K] or undefined, all of one dtype (f32, f16, bf16). Where the mask is the
// dtype's lowest value the score counts for nothing. `position` i32 [B] is where the first query stands, or undefined;
// the mask must hide columns > position + row, so a kernel may stop there and the decomposition may ignore it. `window`
// above 0 promises that the mask also hides columns ≤ position + row - window, so a kernel may start later. Returns
// [B, S, heads·D], contiguous.
inline Tensor attention(Context& context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        const Tensor& position, double scale, std::int64_t window = 0) {
  static constexpr OpName kName{"attention"};
  if (window == 0) return call(context, kName, {q, k, v, mask, position}, {{"scale", scale}});
  return call(context, kName, {q, k, v, mask, position}, {{"scale", scale}, {"window", window}});
}

}  // namespace tilewright::ops

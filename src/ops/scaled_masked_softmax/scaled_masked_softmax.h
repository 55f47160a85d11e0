// Attention weights: softmax over the last dim of scores · scale + mask, in f32.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// scores [B, H, S, K]; mask additive, any shape that broadcasts to it, same dtype (f32, f16, bf16), or undefined.
// Returns the scores' shape and dtype. A fully masked row (all entries the dtype's lowest value) becomes uniform.
inline Tensor scaled_masked_softmax(Context& context, const Tensor& scores, const Tensor& mask, double scale) {
  static constexpr OpName kName{"scaled_masked_softmax"};
  return call(context, kName, {scores, mask}, {{"scale", scale}});
}

}  // namespace tilewright::ops

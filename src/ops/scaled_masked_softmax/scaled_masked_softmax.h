// Attention weights: softmax over the last dim of scores · scale + mask, in f32.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// scores [B, H, S, K]; mask additive, any shape that broadcasts to it, same dtype (f32, f16, bf16), or undefined.
// Where the mask is the dtype's lowest value the score counts for nothing: a row that sees no key becomes uniform.
// Returns the scores' shape and dtype.
inline Tensor scaled_masked_softmax(Context& context, const Tensor& scores, const Tensor& mask, double scale) {
  static constexpr OpName kName{"scaled_masked_softmax"};
  return call(context, kName, {scores, mask}, {{"scale", scale}});
}

}  // namespace tilewright::ops

// y = gate / (1 + exp(-gate)) · up.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// gate and up: one shape and dtype (f32, f16, bf16).
inline Tensor silu_mul(Context& context, const Tensor& gate, const Tensor& up) {
  static constexpr OpName kName{"silu_mul"};
  return call(context, kName, {gate, up});
}

}  // namespace tilewright::ops

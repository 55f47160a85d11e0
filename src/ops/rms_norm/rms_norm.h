// y = weight · x / sqrt(mean(x²) + eps) over the last dim.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// x [..., D], weight [D] of the same dtype (f32, f16, bf16). Returns x's shape and dtype.
inline Tensor rms_norm(Context& context, const Tensor& x, const Tensor& weight, double eps) {
  static constexpr OpName kName{"rms_norm"};
  return call(context, kName, {x, weight}, {{"eps", eps}});
}

}  // namespace tilewright::ops

// sum = residual + x; normed = rms_norm(sum, weight).
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

struct AddRmsNorm {
  Tensor sum, normed;
};
// x and residual [..., D], weight [D], one dtype (f32, f16, bf16).
inline AddRmsNorm add_rms_norm(Context& context, const Tensor& x, const Tensor& residual, const Tensor& weight,
                               double eps) {
  static constexpr OpName kName{"add_rms_norm"};
  Tensors out = call_all(context, kName, {x, residual, weight}, {{"eps", eps}});
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace tilewright::ops

// y = gelu(gate) · up, by the error function or its tanh approximation.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

// gate and up: one shape and dtype (f32, f16, bf16). approximate: "none" or "tanh", a literal.
inline Tensor gelu_mul(Context& context, const Tensor& gate, const Tensor& up, std::string_view approximate) {
  static constexpr OpName kName{"gelu_mul"};
  return call(context, kName, {gate, up}, {{"approximate", approximate}});
}

}  // namespace tilewright::ops

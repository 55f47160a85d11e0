// The experts of a sparse layer: every token through its k experts' gated MLPs, weighted and summed.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

struct ExpertActivation {
  std::string_view name = "silu";  // silu, gelu_tanh or swigluoai; a literal
  double alpha = 1.702;            // swigluoai alone
  double limit = 7;                // swigluoai alone
};

// x [T, H]; weights [T, k] of x's dtype or f32; indices [T, k] i32, of which those outside 0 … E - 1 add nothing.
// gate_up [E, 2·I, H] with the gate's rows first and `up` undefined, or gate_up the gate [E, I, H] and up [E, I, H];
// down [E, H, I]. Matrices have x's dtype (or f16, bf16 where x is f32), strided or packed_experts (grouped_gemm.h).
// Returns [T, H] of x's dtype. A token's k results are added in the order of its indices, so results are repeatable.
inline Tensor expert_ffn(Context& context, const Tensor& x, const Tensor& weights, const Tensor& indices,
                         const Tensor& gate_up, const Tensor& down, const Tensor& up = {},
                         const ExpertActivation& activation = {}) {
  static constexpr OpName kName{"expert_ffn"};
  return call(context, kName, {x, weights, indices, gate_up, down, up},
              {{"activation", activation.name}, {"alpha", activation.alpha}, {"limit", activation.limit}});
}

}  // namespace tilewright::ops

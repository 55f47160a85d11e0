// Which k experts a token goes to, and with what weights.
#pragma once

#include "ops/core/context.h"

namespace tilewright::ops {

struct GateOptions {
  std::int64_t experts_per_token = 1;  // k
  std::string_view score = "softmax";  // or "sigmoid"; a literal
  std::int64_t groups = 1;             // of consecutive experts, at least two in each; 1: none
  std::int64_t kept_groups = 1;        // experts of the other groups are not chosen
  bool renormalise = true;             // divide by the sum of the chosen; LLaDA2 with k = 1: false
  double renormalise_eps = 0;          // added to that sum
  double scale = 1;                    // multiplies the weights at the end
  DType dtype = DType::f32;            // of the weights
};

struct Gate {
  Tensor weights;  // [T, k], descending by biased score
  Tensor indices;  // [T, k] i32
};

// logits [T, E] (f32, f16, bf16; any strides), bias [E] f32, added to the scores for the choice alone, or undefined.
inline Gate moe_gate_top_k(Context& context, const Tensor& logits, const Tensor& bias, const GateOptions& options) {
  static constexpr OpName kName{"moe_gate_top_k"};
  const Tensors out = call_all(context, kName, {logits, bias},
                               {{"k", options.experts_per_token},
                                {"score", options.score},
                                {"n_group", options.groups},
                                {"topk_group", options.kept_groups},
                                {"renormalise", options.renormalise},
                                {"renormalise_eps", options.renormalise_eps},
                                {"scale", options.scale},
                                {"dtype", options.dtype}});
  return {out[0], out[1]};
}

}  // namespace tilewright::ops

#include "ops/core/context.h"
#include "ops/qk_norm_rope/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kRmsNorm{"rms_norm"}, kRope{"rope"};

Tensors run(Context& context, const OpCall& now) {
  const auto normed_heads = [&](int x, int weight) {
    const Tensor& in = now.input(x);
    const std::int64_t width = now.input(weight).dim(0);
    const Tensor heads = in.view({in.dim(0), in.dim(1), in.dim(2) / width, width});
    return call(context, kRmsNorm, {heads, now.input(weight)}, now.attributes).transpose(1, 2);
  };
  const Tensor q = normed_heads(0, 2);
  const Tensor k = normed_heads(1, 3);
  return call_all(context, kRope, {q, k, now.input(4), now.input(5)});
}

}  // namespace

Decomposition qk_norm_rope_decomposition() { return {{"rms_norm", "rope"}, run}; }

}  // namespace tilewright::ops

#include "ops/core/context.h"
#include "ops/rms_norm/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kTo{"to"}, kPow{"pow"}, kMean{"mean"}, kAdd{"add"}, kRsqrt{"rsqrt"}, kMul{"mul"};

Tensors run(Context& context, const OpCall& now) {
  const Tensor& x = now.input(0);
  const bool wide = x.dtype() == DType::f32;
  const Tensor f = wide ? x : call(context, kTo, {x}, {{"dtype", DType::f32}});
  const Tensor squares = call(context, kPow, {f}, {{"exponent", 2.0}});
  const Tensor mean = call(context, kMean, {squares}, {{"dim", std::int64_t{-1}}, {"keepdim", true}});
  const Tensor shifted = call(context, kAdd, {mean}, {{"other", now.attributes.number("eps", 1e-6)}});
  const Tensor factor = call(context, kRsqrt, {shifted});
  const Tensor scaled = call(context, kMul, {f, factor});
  const Tensor normal = wide ? scaled : call(context, kTo, {scaled}, {{"dtype", x.dtype()}});
  return {call(context, kMul, {now.input(1), normal})};
}

}  // namespace

Decomposition rms_norm_decomposition() { return {{"to", "pow", "mean", "add", "rsqrt", "mul"}, run}; }

}  // namespace tilewright::ops

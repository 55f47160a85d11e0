#include <limits>

#include "ops/core/context.h"
#include "ops/moe_gate_top_k/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kTo{"to"}, kSoftmax{"softmax"}, kSigmoid{"sigmoid"}, kAdd{"add"}, kTopk{"topk"}, kSum{"sum"},
    kFull{"full"}, kScatter{"scatter_"}, kMaskedFill{"masked_fill"}, kGather{"gather"}, kDiv{"div"}, kMul{"mul"};

Tensor cast(Context& context, const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : call(context, kTo, {x}, {{"dtype", dtype}});
}

// Biased scores, minus infinity in all but the best groups.
Tensor keep_groups(Context& context, const Tensor& biased, std::int64_t groups, std::int64_t kept) {
  const std::int64_t tokens = biased.dim(0), experts = biased.dim(1);
  const Tensor grouped = biased.view({tokens, groups, experts / groups});
  const Tensors best = call_all(context, kTopk, {grouped}, {{"k", std::int64_t{2}}, {"dim", std::int64_t{-1}}});
  const Tensor sums = call(context, kSum, {best[0]}, {{"dim", std::int64_t{-1}}});
  const Tensors order = call_all(context, kTopk, {sums}, {{"k", kept}, {"dim", std::int64_t{-1}}});
  Tensor dropped = call(context, kFull, {}, {{"shape", Dims{tokens, groups}}, {"value", 1.0}, {"dtype", DType::b8}});
  dropped = call(context, kScatter, {dropped, order[1]}, {{"dim", std::int64_t{1}}, {"value", 0.0}});
  return call(context, kMaskedFill, {grouped, dropped.unsqueeze(-1)},
              {{"value", -std::numeric_limits<double>::infinity()}})
      .view({tokens, experts});
}

Tensors run(Context& context, const OpCall& now) {
  now.op.schema.infer(now);  // views below abort on what does not fit
  const Attributes& a = now.attributes;
  const std::int64_t groups = a.integer("n_group", 1);
  Tensor scores = cast(context, now.input(0), DType::f32);
  if (a.text("score", "softmax") == "sigmoid")
    scores = call(context, kSigmoid, {scores});
  else
    scores = call(context, kSoftmax, {scores}, {{"dim", std::int64_t{-1}}});
  Tensor choice = now.has(1) ? call(context, kAdd, {scores, now.input(1)}) : scores;
  if (groups > 1) choice = keep_groups(context, choice, groups, a.integer("topk_group", 1));
  const Tensors chosen = call_all(context, kTopk, {choice}, {{"k", a.integer("k", 1)}, {"dim", std::int64_t{-1}}});
  Tensor weights = chosen[0];
  if (now.has(1)) weights = call(context, kGather, {scores, chosen[1]}, {{"dim", std::int64_t{1}}});
  if (a.flag("renormalise", true)) {
    Tensor sum = call(context, kSum, {weights}, {{"dim", std::int64_t{-1}}, {"keepdim", true}});
    const double eps = a.number("renormalise_eps", 0);
    if (eps != 0) sum = call(context, kAdd, {sum}, {{"other", eps}});
    weights = call(context, kDiv, {weights, sum});
  }
  const double scale = a.number("scale", 1);
  if (scale != 1) weights = call(context, kMul, {weights}, {{"other", scale}});
  return {cast(context, weights, a.dtype("dtype", DType::f32)), cast(context, chosen[1], DType::i32)};
}

}  // namespace

Decomposition moe_gate_top_k_decomposition() {
  return {{"to", "softmax", "sigmoid", "add", "topk", "sum", "full", "scatter_", "masked_fill", "gather", "div", "mul"},
          run};
}

}  // namespace tilewright::ops

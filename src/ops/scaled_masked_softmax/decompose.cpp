#include "ops/core/context.h"
#include "ops/scaled_masked_softmax/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kMul{"mul"}, kAdd{"add"}, kTo{"to"}, kSoftmax{"softmax"};

Tensors run(Context& context, const OpCall& now) {
  const DType dtype = now.input(0).dtype();
  const bool wide = dtype == DType::f32;
  Tensor scores = call(context, kMul, {now.input(0)}, {{"other", now.attributes.number("scale", 1)}});
  if (now.has(1)) scores = call(context, kAdd, {scores, now.input(1)});
  if (!wide) scores = call(context, kTo, {scores}, {{"dtype", DType::f32}});
  const Tensor weights = call(context, kSoftmax, {scores}, {{"dim", std::int64_t{-1}}});
  return {wide ? weights : call(context, kTo, {weights}, {{"dtype", dtype}})};
}

}  // namespace

Decomposition scaled_masked_softmax_decomposition() { return {{"mul", "add", "to", "softmax"}, run}; }

}  // namespace tilewright::ops

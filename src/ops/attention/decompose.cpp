#include "ops/attention/parts.h"
#include "ops/core/context.h"

namespace tilewright::ops {
namespace {

constexpr OpName kCopy{"copy"}, kBmm{"bmm"}, kScaledMaskedSoftmax{"scaled_masked_softmax"};

// A view where one exists, else a contiguous copy: what reshape does in an eager framework.
Tensor reshape(Context& context, const Tensor& x, const Shape& shape) {
  return x.viewable(shape) ? x.view(shape) : call(context, kCopy, {x}).view(shape);
}

Tensor repeat_heads(Context& context, const Tensor& x, std::int64_t groups) {
  if (groups == 1) return x;
  const std::int64_t batch = x.dim(0), heads = x.dim(1), rows = x.dim(2), width = x.dim(3);
  const Tensor repeated = x.unsqueeze(2).expand({batch, heads, groups, rows, width});
  return reshape(context, repeated, {batch, heads * groups, rows, width});
}

Tensor product(Context& context, const Tensor& a, const Tensor& b) {
  const std::int64_t batch = a.dim(0), heads = a.dim(1);
  const Tensor left = reshape(context, a, {batch * heads, a.dim(2), a.dim(3)});
  const Tensor right = reshape(context, b, {batch * heads, b.dim(2), b.dim(3)});
  return call(context, kBmm, {left, right}).view({batch, heads, a.dim(2), b.dim(3)});
}

Tensors run(Context& context, const OpCall& now) {
  const Tensor& q = now.input(0);
  const std::int64_t batch = q.dim(0), heads = q.dim(1), rows = q.dim(2), width = q.dim(3);
  const std::int64_t groups = heads / now.input(1).dim(1);
  const Tensor k = repeat_heads(context, now.input(1), groups);
  const Tensor v = repeat_heads(context, now.input(2), groups);
  const Tensor scores = product(context, q, k.transpose(2, 3));
  const Tensor mask = now.has(3) ? now.input(3) : Tensor();
  const Tensor weights =
      call(context, kScaledMaskedSoftmax, {scores, mask}, {{"scale", now.attributes.number("scale", 1)}});
  Tensor mixed = product(context, weights, v).transpose(1, 2);
  if (!mixed.contiguous()) mixed = call(context, kCopy, {mixed});
  return {mixed.view({batch, rows, heads * width})};
}

}  // namespace

Decomposition attention_decomposition() { return {{"copy", "bmm", "scaled_masked_softmax"}, run}; }

}  // namespace tilewright::ops

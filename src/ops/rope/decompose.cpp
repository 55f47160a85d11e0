#include "ops/core/context.h"
#include "ops/rope/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kMul{"mul"}, kNeg{"neg"}, kCat{"cat"}, kAdd{"add"};

Tensor rotate(Context& context, const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const std::int64_t width = x.dim(3), half = width / 2;
  const Tensor straight = call(context, kMul, {x, cos});
  const Tensor negated = call(context, kNeg, {x.slice(3, half, width)});
  const Tensor turned = call(context, kCat, {negated, x.slice(3, 0, half)}, {{"dim", std::int64_t{-1}}});
  return call(context, kAdd, {straight, call(context, kMul, {turned, sin})});
}

Tensors run(Context& context, const OpCall& now) {
  const Tensor cos = now.input(2).unsqueeze(1), sin = now.input(3).unsqueeze(1);
  Tensors out;
  out.push_back(rotate(context, now.input(0), cos, sin));
  out.push_back(rotate(context, now.input(1), cos, sin));
  return out;
}

}  // namespace

Decomposition rope_decomposition() { return {{"mul", "neg", "cat", "add"}, run}; }

}  // namespace tilewright::ops

#include "ops/core/context.h"
#include "ops/gelu_mul/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kGelu{"gelu"}, kMul{"mul"};

Tensors run(Context& context, const OpCall& now) {
  const Tensor gate = call(context, kGelu, {now.input(0)}, now.attributes);
  return {call(context, kMul, {gate, now.input(1)})};
}

}  // namespace

Decomposition gelu_mul_decomposition() { return {{"gelu", "mul"}, run}; }

}  // namespace tilewright::ops

#include "ops/core/context.h"
#include "ops/silu_mul/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kSilu{"silu"}, kMul{"mul"};

Tensors run(Context& context, const OpCall& now) {
  return {call(context, kMul, {call(context, kSilu, {now.input(0)}), now.input(1)})};
}

}  // namespace

Decomposition silu_mul_decomposition() { return {{"silu", "mul"}, run}; }

}  // namespace tilewright::ops

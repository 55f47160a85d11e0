#include "ops/add_rms_norm/parts.h"
#include "ops/core/context.h"

namespace tilewright::ops {
namespace {

constexpr OpName kAdd{"add"}, kRmsNorm{"rms_norm"};

Tensors run(Context& context, const OpCall& now) {
  const Tensor sum = call(context, kAdd, {now.input(1), now.input(0)});
  return {sum, call(context, kRmsNorm, {sum, now.input(2)}, now.attributes)};
}

}  // namespace

Decomposition add_rms_norm_decomposition() { return {{"add", "rms_norm"}, run}; }

}  // namespace tilewright::ops

#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/rms_norm/parts.h"

namespace tilewright::ops {

void register_rms_norm(Registry& registry) {
  OpSchema schema;
  schema.name = "rms_norm";
  schema.kind = OpKind::composite;
  schema.summary = "weight * x / sqrt(mean(x^2) + eps)";
  schema.inputs = {{"x"}, {"weight"}};
  schema.attributes = {{"eps", "float", "added to the mean of squares"}};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_rank_at_least(call, 0, 1);
    expect_float(call, 0);
    const Tensor& x = call.input(0);
    expect_dtype(call, 1, x.dtype());
    expect_shape(call, 1, {x.dim(-1)});
    return {{x.dtype(), x.shape()}};
  };
  schema.flops = [](const OpCall& call) { return 4.0 * static_cast<double>(call.input(0).elements()); };
  schema.unit = Unit::reduction;
  registry.add(std::move(schema));
  registry.set_reference("rms_norm", rms_norm_reference);
  registry.set_decomposition("rms_norm", rms_norm_decomposition());
}

}  // namespace tilewright::ops

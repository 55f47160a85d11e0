#include "ops/add_rms_norm/parts.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"

namespace tilewright::ops {

void register_add_rms_norm(Registry& registry) {
  OpSchema schema;
  schema.name = "add_rms_norm";
  schema.kind = OpKind::composite;
  schema.summary = "sum = residual + x; normed = rms_norm(sum, weight)";
  schema.inputs = {{"x"}, {"residual"}, {"weight"}};
  schema.attributes = {{"eps", "float", "added to the mean of squares"}};
  schema.outputs = {"sum", "normed"};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_rank_at_least(call, 0, 1);
    expect_float(call, 0);
    const Tensor& x = call.input(0);
    expect_dtype(call, 1, x.dtype());
    expect_shape(call, 1, x.shape());
    expect_dtype(call, 2, x.dtype());
    expect_shape(call, 2, {x.dim(-1)});
    return {{x.dtype(), x.shape()}, {x.dtype(), x.shape()}};
  };
  schema.flops = [](const OpCall& call) { return 5.0 * static_cast<double>(call.input(0).elements()); };
  schema.unit = Unit::reduction;
  registry.add(std::move(schema));
  registry.set_reference("add_rms_norm", add_rms_norm_reference);
  registry.set_decomposition("add_rms_norm", add_rms_norm_decomposition());
}

}  // namespace tilewright::ops

#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/silu_mul/parts.h"

namespace tilewright::ops {

void register_silu_mul(Registry& registry) {
  OpSchema schema;
  schema.name = "silu_mul";
  schema.kind = OpKind::composite;
  schema.summary = "gate / (1 + exp(-gate)) * up";
  schema.inputs = {{"gate"}, {"up"}};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_float(call, 0);
    const Tensor& gate = call.input(0);
    expect_dtype(call, 1, gate.dtype());
    expect_shape(call, 1, gate.shape());
    return {{gate.dtype(), gate.shape()}};
  };
  schema.flops = [](const OpCall& call) { return 5.0 * static_cast<double>(call.input(0).elements()); };
  registry.add(std::move(schema));
  registry.set_reference("silu_mul", silu_mul_reference);
  registry.set_decomposition("silu_mul", silu_mul_decomposition());
}

}  // namespace tilewright::ops

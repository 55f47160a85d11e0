#include "base/error.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/gelu_mul/parts.h"

namespace tilewright::ops {

void register_gelu_mul(Registry& registry) {
  OpSchema schema;
  schema.name = "gelu_mul";
  schema.kind = OpKind::composite;
  schema.summary = "gelu(gate) * up";
  schema.inputs = {{"gate"}, {"up"}};
  schema.attributes = {{"approximate", "text", "none (error function) or tanh"}};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_float(call, 0);
    const Tensor& gate = call.input(0);
    expect_dtype(call, 1, gate.dtype());
    expect_shape(call, 1, gate.shape());
    const std::string_view approximate = call.attributes.text("approximate", "none");
    if (approximate != "none" && approximate != "tanh")
      fail({.what = "unknown approximation",
            .where = "gelu_mul, approximate",
            .expected = "none or tanh",
            .found = std::string(approximate),
            .fix = ""});
    return {{gate.dtype(), gate.shape()}};
  };
  schema.flops = [](const OpCall& call) { return 9.0 * static_cast<double>(call.input(0).elements()); };
  registry.add(std::move(schema));
  registry.set_reference("gelu_mul", gelu_mul_reference);
  registry.set_decomposition("gelu_mul", gelu_mul_decomposition());
}

}  // namespace tilewright::ops

#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/scaled_masked_softmax/parts.h"

namespace tilewright::ops {

void register_scaled_masked_softmax(Registry& registry) {
  OpSchema schema;
  schema.name = "scaled_masked_softmax";
  schema.kind = OpKind::composite;
  schema.summary = "softmax(scores * scale + mask) over the last dim, in f32";
  schema.inputs = {{"scores"}, {"mask", true}};
  schema.attributes = {{"scale", "float", "multiplies the scores before the mask is added"}};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_rank(call, 0, 4);
    expect_float(call, 0);
    const Tensor& scores = call.input(0);
    if (call.has(1)) {
      expect_rank(call, 1, 4);
      expect_dtype(call, 1, scores.dtype());
      for (int i = 0; i < 4; ++i)
        if (call.input(1).dim(i) != 1 && call.input(1).dim(i) != scores.dim(i))
          refuse_input(call, 1, "a shape that broadcasts to " + to_string(scores.shape()));
    }
    return {{scores.dtype(), scores.shape()}};
  };
  schema.flops = [](const OpCall& call) { return 6.0 * static_cast<double>(call.input(0).elements()); };
  schema.unit = Unit::reduction;
  registry.add(std::move(schema));
  registry.set_reference("scaled_masked_softmax", scaled_masked_softmax_reference);
  registry.set_decomposition("scaled_masked_softmax", scaled_masked_softmax_decomposition());
}

}  // namespace tilewright::ops

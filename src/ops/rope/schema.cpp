#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/rope/parts.h"

namespace tilewright::ops {

void register_rope(Registry& registry) {
  OpSchema schema;
  schema.name = "rope";
  schema.kind = OpKind::composite;
  schema.summary = "x * cos + cat(-x2, x1) * sin, of q and of k";
  schema.inputs = {{"q"}, {"k"}, {"cos"}, {"sin"}};
  schema.outputs = {"q_out", "k_out"};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    expect_rank(call, 0, 4);
    expect_float(call, 0);
    const Tensor& q = call.input(0);
    if (q.dim(3) % 2 != 0) refuse_input(call, 0, "an even head size");
    expect_rank(call, 1, 4);
    expect_shape(call, 1, {q.dim(0), call.input(1).dim(1), q.dim(2), q.dim(3)});
    expect_rank(call, 2, 3);
    const std::int64_t batch = call.input(2).dim(0) == 1 ? 1 : q.dim(0);
    for (const int table : {2, 3}) expect_shape(call, table, {batch, q.dim(2), q.dim(3)});
    for (int i = 1; i < 4; ++i) expect_dtype(call, i, q.dtype());
    return {{q.dtype(), q.shape()}, {q.dtype(), call.input(1).shape()}};
  };
  schema.flops = [](const OpCall& call) {
    return 3.0 * static_cast<double>(call.input(0).elements() + call.input(1).elements());
  };
  registry.add(std::move(schema));
  registry.set_reference("rope", rope_reference);
  registry.set_decomposition("rope", rope_decomposition());
}

}  // namespace tilewright::ops

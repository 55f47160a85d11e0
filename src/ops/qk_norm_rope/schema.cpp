#include <fmt/format.h>

#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/qk_norm_rope/parts.h"

namespace tilewright::ops {
namespace {

Shape split(const OpCall& call, int input, std::int64_t width) {
  const Tensor& x = call.input(input);
  if (x.dim(2) % width != 0) refuse_input(call, input, fmt::format("whole heads of {}", width));
  return {x.dim(0), x.dim(2) / width, x.dim(1), width};
}

std::vector<OutputSpec> infer(const OpCall& call) {
  for (const int x : {0, 1}) expect_rank(call, x, 3);
  expect_float(call, 0);
  const Tensor& q = call.input(0);
  expect_shape(call, 1, {q.dim(0), q.dim(1), call.input(1).dim(2)});
  expect_rank(call, 2, 1);
  const std::int64_t width = call.input(2).dim(0);
  if (width == 0 || width % 2 != 0) refuse_input(call, 2, "an even head size");
  expect_shape(call, 3, {width});
  expect_rank(call, 4, 3);
  const std::int64_t batch = call.input(4).dim(0) == 1 ? 1 : q.dim(0);
  for (const int table : {4, 5}) expect_shape(call, table, {batch, q.dim(1), width});
  for (int i = 1; i < 6; ++i) expect_dtype(call, i, q.dtype());
  return {{q.dtype(), split(call, 0, width)}, {q.dtype(), split(call, 1, width)}};
}

}  // namespace

void register_qk_norm_rope(Registry& registry) {
  OpSchema schema;
  schema.name = "qk_norm_rope";
  schema.kind = OpKind::composite;
  schema.summary = "rope(rms_norm(heads of q), rms_norm(heads of k))";
  schema.inputs = {{"q"}, {"k"}, {"q_weight"}, {"k_weight"}, {"cos"}, {"sin"}};
  schema.attributes = {{"eps", "float", "added to the mean of squares"}};
  schema.outputs = {"q_out", "k_out"};
  schema.infer = infer;
  schema.flops = [](const OpCall& call) {
    return 7.0 * static_cast<double>(call.input(0).elements() + call.input(1).elements());
  };
  schema.unit = Unit::reduction;
  registry.add(std::move(schema));
  registry.set_reference("qk_norm_rope", qk_norm_rope_reference);
  registry.set_decomposition("qk_norm_rope", qk_norm_rope_decomposition());
  registry.add_tile_kernel("qk_norm_rope", qk_norm_rope_kernel());
}

}  // namespace tilewright::ops

#include <fmt/format.h>

#include "ops/attention/parts.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"

namespace tilewright::ops {
namespace {

std::vector<OutputSpec> infer(const OpCall& call) {
  for (int i = 0; i < 3; ++i) expect_rank(call, i, 4);
  expect_float(call, 0);
  const Tensor& q = call.input(0);
  const Tensor& k = call.input(1);
  expect_shape(call, 1, {q.dim(0), k.dim(1), k.dim(2), q.dim(3)});
  expect_shape(call, 2, k.shape());
  if (k.dim(1) == 0 || q.dim(1) % k.dim(1) != 0)
    refuse_input(call, 1, fmt::format("a number of kv heads that divides {}", q.dim(1)));
  for (int i = 1; i < 3; ++i) expect_dtype(call, i, q.dtype());
  if (call.has(3)) {
    expect_rank(call, 3, 4);
    expect_dtype(call, 3, q.dtype());
    expect_shape(call, 3, {call.input(3).dim(0) == 1 ? 1 : q.dim(0), 1, q.dim(2), k.dim(2)});
  }
  if (call.has(4)) {
    expect_dtype(call, 4, DType::i32);
    expect_shape(call, 4, {q.dim(0)});
  }
  return {{q.dtype(), {q.dim(0), q.dim(2), q.dim(1) * q.dim(3)}}};
}

}  // namespace

void register_attention(Registry& registry) {
  OpSchema schema;
  schema.name = "attention";
  schema.kind = OpKind::composite;
  schema.summary = "softmax(q k^T * scale + mask) v, heads side by side";
  schema.inputs = {{"q"}, {"k"}, {"v"}, {"mask", true}, {"position", true}};
  schema.attributes = {{"scale", "float", "multiplies the scores before the mask is added"},
                       {"window", "int", "the mask hides columns ≤ position + row - window (0: says nothing)"}};
  schema.infer = infer;
  schema.flops = [](const OpCall& call) {
    return 4.0 * static_cast<double>(call.input(0).elements()) * static_cast<double>(call.input(1).dim(2));
  };
  schema.unit = Unit::matrix;
  schema.memory_bound = false;
  registry.add(std::move(schema));
  registry.set_reference("attention", attention_reference);
  registry.set_decomposition("attention", attention_decomposition());
  registry.add_tile_kernel("attention", attention_kernel());
}

}  // namespace tilewright::ops

#include <fmt/format.h>

#include "base/error.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/expert_ffn/parts.h"

namespace tilewright::ops {
namespace {

// One matrix for each expert, strided or packed.
void expect_experts(const OpCall& call, int input, const Shape& shape) {
  if (!call.has(input) || call.input(input).shape() != shape) refuse_input(call, input, "shape " + to_string(shape));
  const DType x = call.input(0).dtype(), dtype = call.input(input).dtype();
  if (dtype != x && !(x == DType::f32 && (dtype == DType::f16 || dtype == DType::bf16)))
    refuse_input(call, input, x == DType::f32 ? "f32, f16 or bf16" : std::string(dtype_name(x)));
}

std::vector<OutputSpec> infer(const OpCall& call) {
  expect_rank(call, 0, 2);
  expect_float(call, 0);
  const Tensor& x = call.input(0);
  const std::int64_t tokens = x.dim(0), width = x.dim(1);
  expect_rank(call, 1, 2);
  const std::int64_t k = call.input(1).dim(1);
  expect_shape(call, 1, {tokens, k});
  if (call.input(1).dtype() != DType::f32) expect_dtype(call, 1, x.dtype());
  expect_dtype(call, 2, DType::i32);
  expect_shape(call, 2, {tokens, k});
  if (!call.has(4) || call.input(4).rank() != 3) refuse_input(call, 4, "a tensor of rank 3");
  const std::int64_t experts = call.input(4).dim(0), inner = call.input(4).dim(2);
  expect_experts(call, 4, {experts, width, inner});
  expect_experts(call, 3, {experts, call.has(5) ? inner : 2 * inner, width});
  if (call.has(5)) expect_experts(call, 5, {experts, inner, width});
  const std::string_view activation = call.attributes.text("activation", "silu");
  if (activation != "silu" && activation != "gelu_tanh" && activation != "swigluoai")
    fail({.what = "unknown activation",
          .where = "expert_ffn, activation",
          .expected = "silu, gelu_tanh or swigluoai",
          .found = std::string(activation),
          .fix = ""});
  return {{x.dtype(), x.shape()}};
}

}  // namespace

void register_expert_ffn(Registry& registry) {
  OpSchema schema;
  schema.name = "expert_ffn";
  schema.kind = OpKind::composite;
  schema.summary = "sum over a token's experts of weight * down(act(gate(x)) * up(x))";
  schema.inputs = {{"x"}, {"weights"}, {"indices"}, {"gate_up"}, {"down"}, {"up", true}};
  schema.attributes = {{"activation", "text",
                        "silu (default), gelu_tanh, or swigluoai: (min(max(up, -limit), limit) + "
                        "1) * g * sigmoid(alpha * g), g = min(gate, limit)"},
                       {"alpha", "float", "of swigluoai, default 1.702"},
                       {"limit", "float", "of swigluoai, default 7"}};
  schema.infer = infer;
  schema.flops = [](const OpCall& call) {
    const Tensor& down = call.input(4);
    return 6.0 * static_cast<double>(call.input(2).elements()) * static_cast<double>(down.dim(1) * down.dim(2));
  };
  schema.unit = Unit::matrix;
  schema.memory_bound = false;
  registry.add(std::move(schema));
  registry.set_reference("expert_ffn", expert_ffn_reference);
  registry.set_decomposition("expert_ffn", expert_ffn_decomposition());
}

}  // namespace tilewright::ops

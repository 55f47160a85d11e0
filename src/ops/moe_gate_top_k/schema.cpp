#include <fmt/format.h>

#include "base/error.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/moe_gate_top_k/parts.h"

namespace tilewright::ops {
namespace {

void expect_attribute(bool fits, const char* name, const std::string& expected, const std::string& found) {
  if (!fits)
    fail({.what = "attribute does not fit the operator",
          .where = fmt::format("moe_gate_top_k, {}", name),
          .expected = expected,
          .found = found,
          .fix = ""});
}

std::vector<OutputSpec> infer(const OpCall& call) {
  expect_rank(call, 0, 2);
  expect_float(call, 0);
  const std::int64_t tokens = call.input(0).dim(0), experts = call.input(0).dim(1);
  if (call.has(1)) {
    expect_dtype(call, 1, DType::f32);
    expect_shape(call, 1, {experts});
  }
  const Attributes& a = call.attributes;
  const std::string_view score = a.text("score", "softmax");
  expect_attribute(score == "softmax" || score == "sigmoid", "score", "softmax or sigmoid", std::string(score));
  const std::int64_t groups = a.integer("n_group", 1), kept = a.integer("topk_group", 1), k = a.integer("k", 1);
  expect_attribute(groups == 1 || (groups > 1 && experts % groups == 0 && experts / groups >= 2), "n_group",
                   fmt::format("1, or a divisor of {} that leaves two experts or more in each group", experts),
                   fmt::format("{}", groups));
  expect_attribute(kept >= 1 && kept <= groups, "topk_group", fmt::format("1 … {}, the number of groups", groups),
                   fmt::format("{}", kept));
  const std::int64_t choice = experts / groups * kept;
  expect_attribute(k >= 1 && k <= choice, "k", fmt::format("1 … {}, the experts that can be chosen", choice),
                   fmt::format("{}", k));
  const DType dtype = a.dtype("dtype", DType::f32);
  expect_attribute(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16, "dtype", "f32, f16 or bf16",
                   std::string(dtype_name(dtype)));
  return {{dtype, {tokens, k}}, {DType::i32, {tokens, k}}};
}

}  // namespace

void register_moe_gate_top_k(Registry& registry) {
  OpSchema schema;
  schema.name = "moe_gate_top_k";
  schema.kind = OpKind::composite;
  schema.summary =
      "scores = softmax or sigmoid of logits, in f32; the k experts with the largest scores + bias, of the "
      "best groups; weights = their scores / (sum + eps) * scale";
  schema.inputs = {{"logits"}, {"bias", true}};
  schema.attributes = {{"k", "int", "experts of a token"},
                       {"score", "text", "softmax (default) or sigmoid"},
                       {"n_group", "int", "groups of consecutive experts; 1 (default): none"},
                       {"topk_group", "int", "groups that stay, by the sum of their two best biased scores"},
                       {"renormalise", "bool", "divide the weights by their sum"},
                       {"renormalise_eps", "float", "added to that sum"},
                       {"scale", "float", "multiplies the weights at the end"},
                       {"dtype", "dtype", "of the weights, default f32"}};
  schema.outputs = {"weights", "indices"};
  schema.infer = infer;
  schema.flops = [](const OpCall& call) {
    return (5.0 + static_cast<double>(call.attributes.integer("k", 1))) * static_cast<double>(call.input(0).elements());
  };
  schema.unit = Unit::reduction;
  schema.memory_bound = false;  // a choice among experts is no chain over rows
  registry.add(std::move(schema));
  registry.set_reference("moe_gate_top_k", moe_gate_top_k_reference);
  registry.set_decomposition("moe_gate_top_k", moe_gate_top_k_decomposition());
  registry.add_tile_kernel("moe_gate_top_k", moe_gate_top_k_kernel());
}

}  // namespace tilewright::ops

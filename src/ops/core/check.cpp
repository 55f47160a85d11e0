#include "ops/core/check.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilewright::ops {
namespace {

std::string input_name(const OpCall& call, int input) {
  const auto& inputs = call.op.schema.inputs;
  return static_cast<std::size_t>(input) < inputs.size() ? inputs[static_cast<std::size_t>(input)].name
                                                         : fmt::format("input {}", input);
}

const Tensor& present(const OpCall& call, int input, const std::string& expected) {
  if (!call.has(input) || call.input(input).layout() != Layout::strided) refuse_input(call, input, expected);
  return call.input(input);
}

}  // namespace

void refuse_input(const OpCall& call, int input, const std::string& expected) {
  fail({.what = "argument does not fit the operator",
        .where = call.op.schema.name + ", " + input_name(call, input),
        .expected = expected,
        .found = call.has(input) ? call.input(input).describe() : "nothing",
        .fix = ""});
}

void expect_rank(const OpCall& call, int input, int rank) {
  const std::string expected = fmt::format("a tensor of rank {}", rank);
  if (present(call, input, expected).rank() != rank) refuse_input(call, input, expected);
}

void expect_rank_at_least(const OpCall& call, int input, int rank) {
  const std::string expected = fmt::format("a tensor of rank {} or more", rank);
  if (present(call, input, expected).rank() < rank) refuse_input(call, input, expected);
}

void expect_shape(const OpCall& call, int input, const Shape& shape) {
  const std::string expected = "shape " + to_string(shape);
  if (present(call, input, expected).shape() != shape) refuse_input(call, input, expected);
}

void expect_float(const OpCall& call, int input) {
  const DType dtype = present(call, input, "f32, f16 or bf16").dtype();
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) refuse_input(call, input, "f32, f16 or bf16");
}

void expect_dtype(const OpCall& call, int input, DType dtype) {
  const std::string expected(dtype_name(dtype));
  if (present(call, input, expected).dtype() != dtype) refuse_input(call, input, expected);
}

}  // namespace tilewright::ops

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

// Texts are made for a refusal only: these checks are part of every call.
bool present(const OpCall& call, int input) { return call.has(input) && call.input(input).layout() == Layout::strided; }

}  // namespace

void refuse_input(const OpCall& call, int input, const std::string& expected) {
  fail({.what = "argument does not fit the operator",
        .where = call.op.schema.name + ", " + input_name(call, input),
        .expected = expected,
        .found = call.has(input) ? call.input(input).describe() : "nothing",
        .fix = ""});
}

void expect_rank(const OpCall& call, int input, int rank) {
  if (!present(call, input) || call.input(input).rank() != rank)
    refuse_input(call, input, fmt::format("a tensor of rank {}", rank));
}

void expect_rank_at_least(const OpCall& call, int input, int rank) {
  if (!present(call, input) || call.input(input).rank() < rank)
    refuse_input(call, input, fmt::format("a tensor of rank {} or more", rank));
}

void expect_shape(const OpCall& call, int input, const Shape& shape) {
  if (!present(call, input) || call.input(input).shape() != shape)
    refuse_input(call, input, "shape " + to_string(shape));
}

void expect_float(const OpCall& call, int input) {
  if (present(call, input)) {
    const DType dtype = call.input(input).dtype();
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return;
  }
  refuse_input(call, input, "f32, f16 or bf16");
}

void expect_dtype(const OpCall& call, int input, DType dtype) {
  if (!present(call, input) || call.input(input).dtype() != dtype)
    refuse_input(call, input, std::string(dtype_name(dtype)));
}

}  // namespace tilewright::ops

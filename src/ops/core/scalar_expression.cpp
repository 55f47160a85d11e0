#include "ops/core/scalar_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tilewright::ops {
namespace {

constexpr std::string_view kNames[] = {
    "input", "attribute",  "constant",    "neg",        "abs",         "exp", "log",     "sqrt",
    "rsqrt", "reciprocal", "sin",         "cos",        "tanh",        "erf", "sigmoid", "silu",
    "gelu",  "gelu_tanh",  "relu",        "square",     "logical_not", "add", "sub",     "mul",
    "div",   "maximum",    "minimum",     "pow",        "eq",          "ne",  "lt",      "le",
    "gt",    "ge",         "logical_and", "logical_or", "select"};
static_assert(std::size(kNames) == static_cast<std::size_t>(kFirstTernary) + 1);

double truth(bool value) { return value ? 1.0 : 0.0; }

}  // namespace

std::string_view scalar_op_name(ScalarOp op) { return kNames[static_cast<std::size_t>(op)]; }

double apply(ScalarOp op, double a, double b, double c) {
  switch (op) {
    case ScalarOp::input:
    case ScalarOp::attribute:
    case ScalarOp::constant:
      return a;
    case ScalarOp::neg:
      return -a;
    case ScalarOp::abs:
      return std::fabs(a);
    case ScalarOp::exp:
      return std::exp(a);
    case ScalarOp::log:
      return std::log(a);
    case ScalarOp::sqrt:
      return std::sqrt(a);
    case ScalarOp::rsqrt:
      return 1 / std::sqrt(a);
    case ScalarOp::reciprocal:
      return 1 / a;
    case ScalarOp::sin:
      return std::sin(a);
    case ScalarOp::cos:
      return std::cos(a);
    case ScalarOp::tanh:
      return std::tanh(a);
    case ScalarOp::erf:
      return std::erf(a);
    case ScalarOp::sigmoid:
      return 1 / (1 + std::exp(-a));
    case ScalarOp::silu:
      return a / (1 + std::exp(-a));
    case ScalarOp::gelu:
      return 0.5 * a * (1 + std::erf(a * std::numbers::sqrt2 / 2));
    case ScalarOp::gelu_tanh:
      return 0.5 * a * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (a + 0.044715 * a * a * a)));
    case ScalarOp::relu:
      return a < 0 ? 0.0 : a;
    case ScalarOp::square:
      return a * a;
    case ScalarOp::logical_not:
      return truth(a == 0);
    case ScalarOp::add:
      return a + b;
    case ScalarOp::sub:
      return a - b;
    case ScalarOp::mul:
      return a * b;
    case ScalarOp::div:
      return a / b;
    case ScalarOp::maximum:
      return a > b || std::isnan(a) ? a : b;
    case ScalarOp::minimum:
      return a < b || std::isnan(a) ? a : b;
    case ScalarOp::pow:
      return std::pow(a, b);
    case ScalarOp::eq:
      return truth(a == b);
    case ScalarOp::ne:
      return truth(a != b);
    case ScalarOp::lt:
      return truth(a < b);
    case ScalarOp::le:
      return truth(a <= b);
    case ScalarOp::gt:
      return truth(a > b);
    case ScalarOp::ge:
      return truth(a >= b);
    case ScalarOp::logical_and:
      return truth(a != 0 && b != 0);
    case ScalarOp::logical_or:
      return truth(a != 0 || b != 0);
    case ScalarOp::select:
      return a != 0 ? b : c;
  }
  return 0;
}

ScalarExpression::ScalarExpression(std::initializer_list<ScalarStep> steps) {
  int depth = 0;
  for (const ScalarStep& step : steps) {
    const int taken = scalar_operands(step.op);
    TW_CHECK(size_ < kMaxSteps && depth >= taken);
    depth += 1 - taken;
    TW_CHECK(depth <= kMaxDepth);
    steps_[static_cast<std::size_t>(size_++)] = step;
  }
  TW_CHECK(depth == 1);
}

int ScalarExpression::inputs() const {
  int count = 0;
  for (const ScalarStep& step : steps())
    if (step.op == ScalarOp::input) count = std::max(count, step.index + 1);
  return count;
}

int ScalarExpression::flops() const {
  int count = 0;
  for (const ScalarStep& step : steps()) count += scalar_operands(step.op) > 0;
  return count;
}

double ScalarExpression::evaluate(std::span<const double> inputs, const Attributes& attributes) const {
  std::array<double, kMaxDepth + 2> stack{};
  std::size_t top = 0;  // values on the stack
  for (const ScalarStep& step : steps()) {
    const auto taken = static_cast<std::size_t>(scalar_operands(step.op));
    double value = step.constant;
    if (step.op == ScalarOp::input)
      value = inputs[static_cast<std::size_t>(step.index)];
    else if (step.op == ScalarOp::attribute)
      value = attributes.number(step.attribute, step.constant);
    else if (taken > 0)
      value = apply(step.op, stack[top - taken], stack[top - taken + 1], stack[top - taken + 2]);
    top -= taken;
    stack[top++] = value;
  }
  return stack[0];
}

std::string ScalarExpression::describe() const {
  std::string out;
  for (const ScalarStep& step : steps()) {
    if (!out.empty()) out += ' ';
    if (step.op == ScalarOp::input)
      out += fmt::format("in{}", step.index);
    else if (step.op == ScalarOp::attribute)
      out += step.attribute;
    else if (step.op == ScalarOp::constant)
      out += fmt::format("{}", step.constant);
    else
      out += scalar_op_name(step.op);
  }
  return out;
}

}  // namespace tilewright::ops

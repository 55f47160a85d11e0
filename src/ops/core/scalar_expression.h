// What an elementwise operator computes for one element, as data: a short postfix program. The reference evaluates it
// in double, a backend's elementwise kernel chunk by chunk, and code generators read it.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ops/core/attributes.h"
#include "ops/core/scalar_op.h"

namespace tilewright::ops {

struct ScalarStep {
  ScalarOp op = ScalarOp::constant;
  int index = 0;                    // of an input
  std::string_view attribute = {};  // literal
  double constant = 0;
};

inline constexpr int scalar_operands(ScalarOp op) {
  const int code = static_cast<int>(op);
  return code < kFirstUnary ? 0 : code < kFirstBinary ? 1 : code < kFirstTernary ? 2 : 3;
}
std::string_view scalar_op_name(ScalarOp op);
// The value of one primitive in double. Operands that it does not take are ignored.
double apply(ScalarOp op, double a, double b = 0, double c = 0);

class ScalarExpression {
 public:
  static constexpr int kMaxSteps = 16;
  static constexpr int kMaxDepth = 4;
  ScalarExpression() = default;
  // Steps in postfix order. Aborts if a step lacks operands, more than one value is left, or the stack grows deeper
  // than kMaxDepth.
  ScalarExpression(std::initializer_list<ScalarStep> steps);

  bool empty() const { return size_ == 0; }
  std::span<const ScalarStep> steps() const { return {steps_.data(), static_cast<std::size_t>(size_)}; }
  int inputs() const;  // 1 + the largest input index
  int flops() const;   // primitives that compute
  double evaluate(std::span<const double> inputs, const Attributes& attributes) const;
  std::string describe() const;  // "in0 in1 add"

 private:
  std::array<ScalarStep, kMaxSteps> steps_;
  int size_ = 0;
};

// Short spellings for tables of rows.
inline ScalarStep scalar_input(int index) { return {.op = ScalarOp::input, .index = index}; }
inline ScalarStep scalar_attribute(std::string_view name, double otherwise = 0) {
  return {.op = ScalarOp::attribute, .attribute = name, .constant = otherwise};
}
inline ScalarStep scalar_constant(double value) { return {.op = ScalarOp::constant, .constant = value}; }
inline ScalarStep scalar_apply(ScalarOp op) { return {.op = op}; }

}  // namespace tilewright::ops

// The primitives of scalar expressions. Holds the enumeration alone, so that files compiled for one instruction set may
// include it.
#pragma once

#include <cstdint>

namespace tilewright::ops {

enum class ScalarOp : std::uint8_t {
  // leaves
  input,      // operand `index`
  attribute,  // the call's attribute of that name, or `constant` where it is absent
  constant,
  // one operand
  neg,
  abs,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,    // 1 / (1 + e^-x)
  silu,       // x · sigmoid(x)
  gelu,       // x/2 · (1 + erf(x / √2))
  gelu_tanh,  // x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))
  relu,
  square,
  logical_not,  // 1 where x is zero, else 0
  // two operands; comparisons and logic give 1 or 0
  add,
  sub,
  mul,
  div,
  maximum,  // NaN if either is NaN
  minimum,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  // three operands
  select,  // (condition, a, b): a where the condition is not zero, else b
};

inline constexpr int kFirstUnary = static_cast<int>(ScalarOp::neg);
inline constexpr int kFirstBinary = static_cast<int>(ScalarOp::add);
inline constexpr int kFirstTernary = static_cast<int>(ScalarOp::select);
inline constexpr int kUnaryCount = kFirstBinary - kFirstUnary;
inline constexpr int kBinaryCount = kFirstTernary - kFirstBinary;

}  // namespace tilewright::ops

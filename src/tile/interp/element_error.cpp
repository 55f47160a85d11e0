#include "tile/interp/element_error.h"

#include <algorithm>
#include <cmath>

#include "tile/interp/error_bound.h"
#include "tile/interp/value.h"

namespace tilewright::tile {
namespace {

constexpr double kHalfUlp = 0x1p-24;    // relative, of f32
constexpr double kSmallest = 0x1p-149;  // of f32
constexpr double kSmallestNormal = 0x1p-126;

double largest(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::i32:
      return 2147483647;
    default:  // bf16 a little less than f32: its own largest
      return dtype == DType::bf16 ? 0x1.fep127 : 0x1.fffffep127;
  }
}

// Rounding to f32 of a value up to `magnitude` that is not the one the interpreter rounded.
double rounding(double magnitude) { return 2 * kHalfUlp * magnitude + kSmallest; }

// x / (1 + e^-x) is 0 where e^-x is infinite, though x · e^x is up to 89 times the smallest normal number.
double ulps(OpCode op, double magnitude) {
  const bool early = op == OpCode::silu || op == OpCode::gelu_tanh;
  return 2 * kHalfUlp * (allowed_ulps(op) + 1) * magnitude + (early ? 128 : 2) * kSmallestNormal;
}

// The largest difference from `result` over the operand's interval, of a monotone function.
double at_ends(OpCode op, Approximate a, double result) {
  const double low = unary_value(op, DType::f32, static_cast<double>(static_cast<float>(a.value - a.error)));
  const double high = unary_value(op, DType::f32, static_cast<double>(static_cast<float>(a.value + a.error)));
  // The ends themselves are rounded; one more rounding covers that.
  return std::max(std::fabs(low - result), std::fabs(high - result)) +
         rounding(std::max({std::fabs(low), std::fabs(high), std::fabs(result)}));
}

bool is_exact(OpCode op) { return op == OpCode::neg || op == OpCode::abs || op == OpCode::sqrt; }

}  // namespace

double allowed_ulps(OpCode op) {
  switch (op) {
    case OpCode::exp:
    case OpCode::log:
    case OpCode::rsqrt:
    case OpCode::reciprocal:
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::tanh:
      return 4;
    case OpCode::sigmoid:
    case OpCode::silu:
      return 6;
    case OpCode::erf:
      return 6;
    case OpCode::gelu:
    case OpCode::gelu_tanh:
      return 10;
    default:
      return 0;
  }
}

double settled(DType dtype, double result, double error) {
  if (error == 0) return 0;
  if (!(std::fabs(result) + error <= largest(dtype))) return kUnknown;
  return error;
}

double unary_error(OpCode op, DType dtype, Approximate a, double result) {
  if (op == OpCode::logical_not) return a.error > 0 ? 1 : 0;
  if (op == OpCode::neg || op == OpCode::abs) return settled(dtype, result, a.error);
  if (a.error == kUnknown) return kUnknown;
  if (a.error == 0 && is_exact(op)) return 0;
  if (!std::isfinite(a.value)) {
    // Limits are exact, but silu and gelu of an infinity are 0·∞ or the infinity by how they are computed.
    const bool by_formula = op == OpCode::silu || op == OpCode::gelu || op == OpCode::gelu_tanh;
    if (a.error > 0 || (by_formula && !std::isnan(a.value))) return kUnknown;
    return std::isfinite(result) ? ulps(op, std::fabs(result)) : 0;
  }
  if (a.error == 0 && !std::isfinite(result) && std::isnan(result)) return 0;
  // A pole: reciprocal, rsqrt and log at an exact zero.
  if (a.error == 0 && a.value == 0 && !std::isfinite(result)) return 0;
  double error = 0;
  switch (op) {
    case OpCode::sin:
    case OpCode::cos:
      error = std::min(a.error, 2.0) + ulps(op, std::min(1.0, std::fabs(result) + a.error));
      break;
    case OpCode::silu:
      error = 1.2 * a.error + ulps(op, std::fabs(result) + 1.2 * a.error);
      break;
    case OpCode::gelu:
    case OpCode::gelu_tanh:
      error = 1.2 * a.error + ulps(op, std::fabs(a.value) + a.error);
      break;
    case OpCode::reciprocal:
    case OpCode::rsqrt:
    case OpCode::log:
    case OpCode::sqrt: {
      const bool reaches_pole = op == OpCode::reciprocal ? std::fabs(a.value) <= a.error : a.value - a.error <= 0;
      if (reaches_pole && a.error > 0) return kUnknown;
      const double slack = a.error > 0 ? at_ends(op, a, result) : 0;
      error = slack + ulps(op, std::fabs(result) + slack);
      // Next to one, a logarithm is small and its error that of its steps.
      break;
    }
    default: {
      const double slack = a.error > 0 ? at_ends(op, a, result) : 0;
      error = slack + ulps(op, std::fabs(result) + slack);
    }
  }
  return settled(dtype, result, error);
}

double cast_error(DType from, DType to, Approximate a, double result) {
  // The processor's own conversion to bf16 takes subnormal numbers for zero.
  if (to == DType::bf16 && from == DType::f32 && a.value != 0 && std::fabs(a.value) < kSmallestNormal)
    a.error += kSmallestNormal;
  if (a.error == 0) return 0;
  switch (to) {
    case DType::b8:
      return std::fabs(a.value) <= a.error || std::isnan(a.value) || from == DType::b8 ? 1 : 0;
    case DType::i32: {
      const double low = std::trunc(a.value - a.error), high = std::trunc(a.value + a.error);
      if (!fits_i32(low) || !fits_i32(high)) return kUnknown;
      return std::max(high - result, result - low);
    }
    case DType::f32:
      return settled(to, result, a.error + (from == DType::i32 ? rounding(std::fabs(result) + a.error) : 0));
    default: {
      const double magnitude = std::fabs(a.value) + a.error;
      const double step = to == DType::f16 ? std::max(0x1p-10 * magnitude, 0x1p-24) : 0x1p-7 * magnitude + 0x1p-133;
      return settled(to, result, a.error + step);
    }
  }
}

double binary_error(OpCode op, DType dtype, Approximate a, Approximate b, double result) {
  const bool exact = a.error == 0 && b.error == 0;
  if (op == OpCode::logical_and || op == OpCode::logical_or) {
    const double decides = op == OpCode::logical_or ? 1 : 0;
    if ((a.error == 0 && a.value == decides) || (b.error == 0 && b.value == decides)) return 0;
    return exact ? 0 : 1;
  }
  if (is_comparison(op)) {
    if (exact) return 0;
    return std::fabs(a.value - b.value) > a.error + b.error ? 0 : 1;  // NaN: unknown
  }
  if (op == OpCode::minimum || op == OpCode::maximum) {
    // Of zeros of both signs either may be taken.
    if (exact) return a.value == 0 && b.value == 0 && std::signbit(a.value) != std::signbit(b.value) ? kSmallest : 0;
    return settled(dtype, result, std::max(a.error, b.error));
  }
  // A product may go into a sum before it is rounded: then it is off by what the rounding took.
  if (exact && op == OpCode::mul && dtype == DType::f32) {
    const double product = a.value * b.value;
    if (std::isnan(product) || product == result) return 0;
    return std::isfinite(result) ? std::fabs(product - result) : kUnknown;
  }
  if (exact) return 0;
  if (a.error == kUnknown || b.error == kUnknown) return kUnknown;
  double error = 0;
  if (op == OpCode::add || op == OpCode::sub) {
    error = a.error + b.error;
  } else if (op == OpCode::mul) {
    error = std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error;
  } else {
    if (std::fabs(b.value) <= b.error) return kUnknown;
    error = (a.error + std::fabs(a.value / b.value) * b.error) / (std::fabs(b.value) - b.error);
  }
  if (std::isnan(error)) return kUnknown;
  if (dtype == DType::f32) error += rounding(std::fabs(result) + error);
  // Integers wrap: settled() gives up at the ends of their range.
  return settled(dtype, result, error);
}

double where_error(Approximate condition, Approximate a, Approximate b) {
  const Approximate& taken = condition.value != 0 ? a : b;
  if (condition.error == 0) return taken.error;
  const Approximate& other = condition.value != 0 ? b : a;
  if (taken.value == other.value || (std::isnan(taken.value) && std::isnan(other.value)))
    return std::max({taken.error, other.error, taken.value == 0 ? kSmallest : 0.0});
  const double error = std::max(taken.error, std::fabs(taken.value - other.value) + other.error);
  return std::isnan(error) ? kUnknown : error;
}

double sum_error(const std::vector<Approximate>& terms, double divisor, double result) {
  double from_terms = 0, magnitude = 0, step = 0x1p40;
  bool finite = true;
  for (const Approximate& term : terms) {
    from_terms += term.error;
    if (!std::isfinite(term.value)) {
      finite = false;
      if (term.error > 0) return kUnknown;
      continue;
    }
    magnitude += std::fabs(term.value) + term.error;
    if (term.value == 0) continue;
    int exponent = 0;
    double mantissa = std::frexp(std::fabs(term.value), &exponent);  // 53 bits at most
    while (mantissa != std::floor(mantissa)) {
      mantissa *= 2;
      --exponent;
    }
    while (std::fmod(mantissa, 2) == 0) {
      mantissa /= 2;
      ++exponent;
    }
    step = std::min(step, std::ldexp(1.0, exponent));
  }
  if (from_terms == kUnknown || magnitude > 0x1.fffffep127) return kUnknown;
  if (!finite) return 0;  // NaN or an infinity in any order
  const auto count = static_cast<double>(terms.size());
  double error = from_terms;
  const bool exact_sum = terms.size() <= 1 || (from_terms == 0 && step >= kSmallest && magnitude <= 0x1p24 * step);
  if (!exact_sum) error += count * kHalfUlp * 1.01 * magnitude + count * kSmallest;
  // Zeros of either sign come out of sums of zeros by how one begins.
  if (error == 0 && result == 0 && divisor == 1) return kSmallest;
  if (divisor != 1) error = error / divisor + 3 * kHalfUlp * (magnitude / divisor) + kSmallest;
  return settled(DType::f32, result, error == 0 ? 0 : error + rounding(std::fabs(result) + error));
}

double max_error(const std::vector<Approximate>& terms, double result) {
  double error = 0;
  for (const Approximate& term : terms) error = std::max(error, term.error);
  if (error == 0) return result == 0 ? kSmallest : 0;
  return settled(DType::f32, result, error);
}

}  // namespace tilewright::tile

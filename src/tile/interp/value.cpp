#include "tile/interp/value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace tilewright::tile {

TileValue::TileValue(DType type, std::int64_t row_count, std::int64_t column_count)
    : dtype(type), rows(row_count), columns(column_count), valid_rows(row_count), valid_columns(column_count) {
  values.resize(static_cast<std::size_t>(rows * columns));
  defined.resize(values.size());
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::i32:
    case DType::i64:
      return std::trunc(value);
    case DType::b8:
      return value != 0 ? 1 : 0;
    default: {
      std::uint64_t bits = 0;
      store_element(dtype, &bits, value);
      return load_element(dtype, &bits);
    }
  }
}

bool fits_i32(double value) {
  return std::trunc(value) >= std::numeric_limits<std::int32_t>::min() &&
         std::trunc(value) <= std::numeric_limits<std::int32_t>::max();
}

namespace {

double wrapped(std::int64_t value) {
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)));
}

double unary_f32(OpCode op, double a) {
  switch (op) {
    case OpCode::neg:
      return -a;
    case OpCode::abs:
      return std::fabs(a);
    case OpCode::exp:
      return std::exp(a);
    case OpCode::log:
      return std::log(a);
    case OpCode::sqrt:
      return std::sqrt(a);
    case OpCode::rsqrt:
      return 1 / std::sqrt(a);
    case OpCode::reciprocal:
      return 1 / a;
    case OpCode::sin:
      return std::sin(a);
    case OpCode::cos:
      return std::cos(a);
    case OpCode::tanh:
      return std::tanh(a);
    case OpCode::erf:
      return std::erf(a);
    case OpCode::sigmoid:
      return 1 / (1 + std::exp(-a));
    case OpCode::silu:
      return a / (1 + std::exp(-a));
    case OpCode::gelu:  // a/2 (1 + erf(a/√2)), without its cancellation
      return 0.5 * a * std::erfc(-a * std::numbers::sqrt2 / 2);
    case OpCode::gelu_tanh: {  // a/2 (1 + tanh y) = a / (1 + exp(-2y))
      const double y = std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a);
      return a / (1 + std::exp(-2 * y));
    }
    default:
      TW_CHECK(false);
  }
  return 0;
}

double binary_f32(OpCode op, double a, double b) {
  switch (op) {
    case OpCode::add:
      return a + b;
    case OpCode::sub:
      return a - b;
    case OpCode::mul:
      return a * b;
    case OpCode::div:
      return a / b;
    case OpCode::minimum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
    case OpCode::maximum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
    default:
      TW_CHECK(false);
  }
  return 0;
}

double binary_i32(OpCode op, double x, double y) {
  const auto a = static_cast<std::int64_t>(x), b = static_cast<std::int64_t>(y);
  switch (op) {
    case OpCode::add:
      return wrapped(a + b);
    case OpCode::sub:
      return wrapped(a - b);
    case OpCode::mul:
      return wrapped(a * b);
    case OpCode::minimum:
      return std::min(x, y);
    case OpCode::maximum:
      return std::max(x, y);
    default:
      TW_CHECK(false);
  }
  return 0;
}

}  // namespace

double unary_value(OpCode op, DType dtype, double a) {
  if (op == OpCode::logical_not) return a == 0 ? 1 : 0;
  if (dtype != DType::i32) return round_to(DType::f32, unary_f32(op, a));
  return wrapped(op == OpCode::neg ? -static_cast<std::int64_t>(a) : std::abs(static_cast<std::int64_t>(a)));
}

double binary_value(OpCode op, DType dtype, double a, double b) {
  switch (op) {
    case OpCode::eq:
      return a == b;
    case OpCode::ne:
      return a != b;
    case OpCode::lt:
      return a < b;
    case OpCode::le:
      return a <= b;
    case OpCode::gt:
      return a > b;
    case OpCode::ge:
      return a >= b;
    case OpCode::logical_and:
      return a != 0 && b != 0;
    case OpCode::logical_or:
      return a != 0 || b != 0;
    default:
      return dtype == DType::i32 ? binary_i32(op, a, b) : round_to(DType::f32, binary_f32(op, a, b));
  }
}

TileValue cast_tile(const TileValue& a, DType dtype) {
  TileValue out = a;
  out.dtype = dtype;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (!a.defined[i]) continue;
    if (dtype == DType::i32 && !fits_i32(a.values[i])) {
      out.defined[i] = 0;
      out.values[i] = 0;
    } else {
      out.values[i] = round_to(dtype, a.values[i]);
    }
  }
  return out;
}

TileValue unary_tile(OpCode op, const TileValue& a) {
  TileValue out = a;
  for (std::size_t i = 0; i < out.values.size(); ++i)
    if (a.defined[i]) out.values[i] = unary_value(op, a.dtype, a.values[i]);
  return out;
}

TileValue binary_tile(OpCode op, const TileValue& a, const TileValue& b) {
  TileValue out(is_comparison(op) ? DType::b8 : a.dtype, a.rows, a.columns);
  out.valid_rows = std::min(a.valid_rows, b.valid_rows);
  out.valid_columns = std::min(a.valid_columns, b.valid_columns);
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (!a.defined[i] || !b.defined[i]) continue;
    out.values[i] = binary_value(op, a.dtype, a.values[i], b.values[i]);
    out.defined[i] = 1;
  }
  return out;
}

TileValue where_tile(const TileValue& condition, const TileValue& a, const TileValue& b) {
  TileValue out(a.dtype, a.rows, a.columns);
  out.valid_rows = std::min({condition.valid_rows, a.valid_rows, b.valid_rows});
  out.valid_columns = std::min({condition.valid_columns, a.valid_columns, b.valid_columns});
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (!condition.defined[i] || !a.defined[i] || !b.defined[i]) continue;
    out.values[i] = condition.values[i] != 0 ? a.values[i] : b.values[i];
    out.defined[i] = 1;
  }
  return out;
}

}  // namespace tilewright::tile

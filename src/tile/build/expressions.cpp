// The free functions of builder.h: index arithmetic and tile expressions.
#include <fmt/format.h>

#include "base/error.h"
#include "tile/build/builder.h"

namespace tilewright::tile {

ValueId Index::id(Builder& builder) const {
  return literal() ? builder.append({.op = OpCode::index_constant, .integer = constant_}) : id_;
}

namespace {

Index arithmetic(OpCode op, Index a, Index b, std::int64_t literal) {
  if (a.literal() && b.literal()) return literal;
  Builder& builder = *(a.literal() ? b : a).builder();
  const ValueId left = a.id(builder), right = b.id(builder);
  return {builder, builder.append({.op = op, .operands = {left, right}})};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

}  // namespace

Index operator+(Index a, Index b) { return arithmetic(OpCode::index_add, a, b, a.value() + b.value()); }
Index operator-(Index a, Index b) { return arithmetic(OpCode::index_sub, a, b, a.value() - b.value()); }
Index operator*(Index a, Index b) { return arithmetic(OpCode::index_mul, a, b, a.value() * b.value()); }
Index operator/(Index a, Index b) { return arithmetic(OpCode::index_div, a, b, floor_div(a.value(), b.value())); }
Index operator%(Index a, Index b) {
  return arithmetic(OpCode::index_mod, a, b,
                    b.value() == 0 ? 0 : a.value() - floor_div(a.value(), b.value()) * b.value());
}
Index min(Index a, Index b) { return arithmetic(OpCode::index_min, a, b, std::min(a.value(), b.value())); }
Index max(Index a, Index b) { return arithmetic(OpCode::index_max, a, b, std::max(a.value(), b.value())); }
Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

const Type& Tile::type() const { return builder_->program().node(id_).type; }

namespace {

Tile node_of(Builder& builder, Node node) { return {builder, builder.append(std::move(node))}; }

// Spread `a` to the shape that `a` and `b` have together, if one of them has one row or one column.
Tile spread(Tile a, Tile b) {
  const Type& own = a.type();
  const Type& other = b.type();
  const Extent rows = own.rows.one() ? other.rows : own.rows;
  const Extent columns = own.columns.one() ? other.columns : own.columns;
  return rows == own.rows && columns == own.columns ? a : broadcast(a, rows, columns);
}

Tile number_like(Tile a, double value) { return a.builder().constant(value, {}, {}, a.dtype()); }

}  // namespace

Tile broadcast(Tile a, Extent rows, Extent columns) {
  return node_of(a.builder(),
                 {.op = OpCode::broadcast, .type = {.rows = rows, .columns = columns}, .operands = {a.id()}});
}

Tile unary(OpCode op, Tile a) { return node_of(a.builder(), {.op = op, .operands = {a.id()}}); }
Tile binary(OpCode op, Tile a, Tile b) {
  const Tile left = spread(a, b), right = spread(b, a);
  return node_of(a.builder(), {.op = op, .operands = {left.id(), right.id()}});
}
Tile where(Tile condition, Tile a, Tile b) {
  const Tile c = spread(spread(condition, a), b);
  const Tile left = spread(spread(a, c), b), right = spread(spread(b, c), a);
  return node_of(a.builder(), {.op = OpCode::where, .operands = {c.id(), left.id(), right.id()}});
}
Tile cast(Tile a, DType dtype) {
  if (a.dtype() == dtype) return a;
  return node_of(a.builder(), {.op = OpCode::cast, .type = {.dtype = dtype}, .operands = {a.id()}});
}

Tile operator+(Tile a, Tile b) { return binary(OpCode::add, a, b); }
Tile operator-(Tile a, Tile b) { return binary(OpCode::sub, a, b); }
Tile operator*(Tile a, Tile b) { return binary(OpCode::mul, a, b); }
Tile operator/(Tile a, Tile b) { return binary(OpCode::div, a, b); }
Tile operator-(Tile a) { return unary(OpCode::neg, a); }
Tile operator+(Tile a, double b) { return a + number_like(a, b); }
Tile operator-(Tile a, double b) { return a - number_like(a, b); }
Tile operator*(Tile a, double b) { return a * number_like(a, b); }
Tile operator/(Tile a, double b) { return a / number_like(a, b); }
Tile operator+(double a, Tile b) { return number_like(b, a) + b; }
Tile operator-(double a, Tile b) { return number_like(b, a) - b; }
Tile operator*(double a, Tile b) { return number_like(b, a) * b; }
Tile operator/(double a, Tile b) { return number_like(b, a) / b; }
Tile minimum(Tile a, Tile b) { return binary(OpCode::minimum, a, b); }
Tile maximum(Tile a, Tile b) { return binary(OpCode::maximum, a, b); }
Tile abs(Tile a) { return unary(OpCode::abs, a); }
Tile exp(Tile a) { return unary(OpCode::exp, a); }
Tile log(Tile a) { return unary(OpCode::log, a); }
Tile sqrt(Tile a) { return unary(OpCode::sqrt, a); }
Tile rsqrt(Tile a) { return unary(OpCode::rsqrt, a); }
Tile reciprocal(Tile a) { return unary(OpCode::reciprocal, a); }
Tile sin(Tile a) { return unary(OpCode::sin, a); }
Tile cos(Tile a) { return unary(OpCode::cos, a); }
Tile tanh(Tile a) { return unary(OpCode::tanh, a); }
Tile erf(Tile a) { return unary(OpCode::erf, a); }
Tile sigmoid(Tile a) { return unary(OpCode::sigmoid, a); }
Tile silu(Tile a) { return unary(OpCode::silu, a); }
Tile gelu(Tile a) { return unary(OpCode::gelu, a); }
Tile gelu_tanh(Tile a) { return unary(OpCode::gelu_tanh, a); }
Tile equal(Tile a, Tile b) { return binary(OpCode::eq, a, b); }
Tile not_equal(Tile a, Tile b) { return binary(OpCode::ne, a, b); }
Tile less(Tile a, Tile b) { return binary(OpCode::lt, a, b); }
Tile less_equal(Tile a, Tile b) { return binary(OpCode::le, a, b); }
Tile greater(Tile a, Tile b) { return binary(OpCode::gt, a, b); }
Tile greater_equal(Tile a, Tile b) { return binary(OpCode::ge, a, b); }
Tile logical_and(Tile a, Tile b) { return binary(OpCode::logical_and, a, b); }
Tile logical_or(Tile a, Tile b) { return binary(OpCode::logical_or, a, b); }
Tile logical_not(Tile a) { return unary(OpCode::logical_not, a); }

namespace {

Tile reduce(OpCode op, Tile a, int axis) {
  return node_of(a.builder(), {.op = op, .operands = {a.id()}, .axis = axis});
}

Tile product(Tile a, Tile b, ValueId accumulator, bool transposed) {
  return node_of(a.builder(),
                 {.op = OpCode::matmul, .operands = {a.id(), b.id(), accumulator}, .transposed = transposed});
}

}  // namespace

Tile sum(Tile a, int axis) { return reduce(OpCode::reduce_sum, a, axis); }
Tile max(Tile a, int axis) { return reduce(OpCode::reduce_max, a, axis); }
Tile mean(Tile a, int axis) { return reduce(OpCode::reduce_mean, a, axis); }

Tile slice(Tile a, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  return node_of(a.builder(), {.op = OpCode::slice,
                               .type = {.rows = {rows}, .columns = {columns}},
                               .operands = {a.id()},
                               .integer = row,
                               .integer2 = column});
}
Tile concat(std::vector<Tile> parts, int axis) {
  TW_CHECK(!parts.empty());
  Node node{.op = OpCode::concat, .axis = axis};
  for (const Tile& part : parts) node.operands.push_back(part.id());
  return node_of(parts[0].builder(), std::move(node));
}
Tile transpose(Tile a) { return unary(OpCode::transpose, a); }
Tile reshape(Tile a, std::int64_t rows, std::int64_t columns) {
  return node_of(a.builder(),
                 {.op = OpCode::reshape, .type = {.rows = {rows}, .columns = {columns}}, .operands = {a.id()}});
}
Tile matmul(Tile a, Tile b) { return product(a, b, kNone, false); }
Tile matmul_transposed(Tile a, Tile b) { return product(a, b, kNone, true); }
Tile matmul(Tile a, Tile b, Tile accumulator) { return product(a, b, accumulator.id(), false); }
Tile matmul_transposed(Tile a, Tile b, Tile accumulator) { return product(a, b, accumulator.id(), true); }

TopK top_k(Tile a, std::int64_t k) {
  const Tile both = node_of(a.builder(), {.op = OpCode::top_k, .operands = {a.id()}, .integer = k});
  const auto result = [&](std::int64_t i) {
    return node_of(a.builder(), {.op = OpCode::result, .operands = {both.id()}, .integer = i});
  };
  const Tile values = result(0);
  return {values, result(1)};
}

}  // namespace tilewright::tile

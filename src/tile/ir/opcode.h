// The operations of a tile program. What each means is said in docs/tile-language.md and defined by interp/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::tile {

enum class OpCode : std::uint8_t {
  // Index values: one i64 each.
  index_constant,  // attribute integer
  index_dim,       // extent of symbolic dim `integer`
  index_scalar,    // i64 scalar parameter `integer`
  index_load,      // element of an i32 or i64 tensor at the given offsets
  index_add,
  index_sub,
  index_mul,
  index_div,  // floor; a divisor of 0 gives 0
  index_mod,  // sign of the divisor; a divisor of 0 gives 0
  index_min,
  index_max,
  // Tiles from elsewhere.
  constant,    // one literal everywhere
  scalar,      // [1, 1], f32 scalar parameter `integer`
  from_index,  // [1, 1] i32 of an index value
  iota,        // i32, index + i along `axis` (operand: the index at 0)
  view,        // a part of a tensor
  gather,      // rows of a tensor named by an i32 tile [rows, 1]; a row outside the tensor reads as zeros
  // One operand, f32 to f32.
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
  sigmoid,
  silu,
  gelu,         // with erf
  gelu_tanh,    // with tanh
  logical_not,  // bool
  cast,         // to the node's dtype
  // Two operands of one dtype (f32 or i32; logic: bool) and one shape.
  add,
  sub,
  mul,
  div,  // f32 only
  minimum,
  maximum,  // NaN if either is
  eq,       // comparisons give bool; f16 and bf16 too
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  // Three.
  where,  // (bool, a, b)
  // Other shapes of the same elements.
  broadcast,  // [1, 1], [m, 1] or [1, n] to the node's shape
  slice,      // from (row, column) = (integer, integer2), the node's shape
  concat,     // along `axis`, any number of operands
  transpose,
  reshape,   // row-major
  restrict,  // a smaller valid extent
  // Along `axis` (0: over rows, result [1, n]; 1: over columns, result [m, 1]), over the valid extent only. f32.
  reduce_sum,
  reduce_max,
  reduce_mean,
  matmul,  // a [m, k] · b [k, n] (or b [n, k] with `transposed`) + accumulator; f32, f16, bf16 to f32
  top_k,   // per row: values f32 and columns i32 of the `integer` largest; two results
  // Control.
  loop,           // operands start, stop, step, initial values …; results through `result`
  loop_variable,  // index, argument of a block
  carried,        // tile, argument of a block
  result,         // result `integer` of a loop or top_k
  is_first,       // [1, 1] bool: the loop whose variable is the operand is in its first iteration
  is_last,
  assemble,  // writes a tile to a part of an output; no result
};

std::string_view opcode_name(OpCode op);
std::optional<OpCode> opcode_from_name(std::string_view name);
inline constexpr int kOpCodes = static_cast<int>(OpCode::assemble) + 1;

constexpr bool in_range(OpCode op, OpCode first, OpCode last) { return op >= first && op <= last; }
constexpr bool is_index_arithmetic(OpCode op) { return in_range(op, OpCode::index_add, OpCode::index_max); }
constexpr bool is_unary(OpCode op) { return in_range(op, OpCode::neg, OpCode::cast); }
constexpr bool is_comparison(OpCode op) { return in_range(op, OpCode::eq, OpCode::ge); }
constexpr bool is_binary(OpCode op) { return in_range(op, OpCode::add, OpCode::logical_or); }
// One element of the result needs the same element of each operand.
constexpr bool is_elementwise(OpCode op) { return is_unary(op) || is_binary(op) || op == OpCode::where; }
constexpr bool is_reduction(OpCode op) { return in_range(op, OpCode::reduce_sum, OpCode::reduce_mean); }
constexpr bool has_no_result(OpCode op) { return op == OpCode::assemble; }

}  // namespace tilewright::tile

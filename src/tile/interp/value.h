// What the interpreter holds for one node, and what operations do to single elements and whole tiles. Nothing here
// knows programs or tensors; every function is the plain formula of docs/tile-language.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"
#include "tile/ir/opcode.h"

namespace tilewright::tile {

// A tile, row-major. Values of every dtype as double (f32, f16, bf16, i32 and bool fit exactly); bool is 0 or 1.
// `valid_rows` and `valid_columns` are the extents that reductions, matmul and top_k look at; `defined` says of each
// element whether it has a value at all.
struct TileValue {
  DType dtype = DType::f32;
  std::int64_t rows = 1, columns = 1;
  std::int64_t valid_rows = 1, valid_columns = 1;
  std::vector<double> values;
  std::vector<std::uint8_t> defined;

  TileValue() = default;
  TileValue(DType type, std::int64_t row_count, std::int64_t column_count);  // all valid, nothing defined
  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * columns + column);
  }
  void set(std::int64_t row, std::int64_t column, double value) {  // `value` must be one of the dtype
    values[at(row, column)] = value;
    defined[at(row, column)] = 1;
  }
};

// The value nearest to `value` in `dtype`, ties to even; i32: truncated (the caller checks the range); bool: not zero.
double round_to(DType dtype, double value);
// Whether cast to i32 has a value: not NaN, and in range once truncated.
bool fits_i32(double value);

double unary_value(OpCode op, DType dtype, double a);  // dtype: of the operand; cast is round_to
double binary_value(OpCode op, DType dtype, double a, double b);

// Tiles to tiles. Shapes are those of type_rule(); valid extents follow Program::valid_extent.
TileValue cast_tile(const TileValue& a, DType dtype);
TileValue unary_tile(OpCode op, const TileValue& a);
TileValue binary_tile(OpCode op, const TileValue& a, const TileValue& b);
TileValue where_tile(const TileValue& condition, const TileValue& a, const TileValue& b);
TileValue broadcast_tile(const TileValue& a, std::int64_t rows, std::int64_t columns);
TileValue slice_tile(const TileValue& a, std::int64_t row, std::int64_t column, std::int64_t rows,
                     std::int64_t columns);
TileValue concat_tiles(const std::vector<const TileValue*>& parts, int axis);
TileValue transpose_tile(const TileValue& a);
TileValue reshape_tile(const TileValue& a, std::int64_t rows, std::int64_t columns);
TileValue reduce_tile(OpCode op, const TileValue& a, int axis);
TileValue matmul_tile(const TileValue& a, const TileValue& b, const TileValue* accumulator, bool transposed);
// The columns of one row's k largest, -1 where the row has fewer: descending, NaN largest, ties to the lower column.
std::vector<std::int64_t> top_k_columns(std::span<const double> row, std::int64_t k);
TileValue top_k_tile(const TileValue& a, std::int64_t k, bool want_columns);

}  // namespace tilewright::tile

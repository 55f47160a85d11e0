// Operations of value.h whose elements come from other places than their own: moves, reductions, products, choices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tile/interp/value.h"

namespace tilewright::tile {
namespace {

void copy(TileValue& out, std::int64_t row, std::int64_t column, const TileValue& from, std::int64_t from_row,
          std::int64_t from_column) {
  out.values[out.at(row, column)] = from.values[from.at(from_row, from_column)];
  out.defined[out.at(row, column)] = from.defined[from.at(from_row, from_column)];
}

}  // namespace

TileValue broadcast_tile(const TileValue& a, std::int64_t rows, std::int64_t columns) {
  TileValue out(a.dtype, rows, columns);
  if (a.rows != 1) out.valid_rows = a.valid_rows;
  if (a.columns != 1) out.valid_columns = a.valid_columns;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) copy(out, r, c, a, a.rows == 1 ? 0 : r, a.columns == 1 ? 0 : c);
  return out;
}

TileValue slice_tile(const TileValue& a, std::int64_t row, std::int64_t column, std::int64_t rows,
                     std::int64_t columns) {
  TileValue out(a.dtype, rows, columns);
  if (rows == a.rows) out.valid_rows = a.valid_rows;
  if (columns == a.columns) out.valid_columns = a.valid_columns;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) copy(out, r, c, a, row + r, column + c);
  return out;
}

TileValue concat_tiles(const std::vector<const TileValue*>& parts, int axis) {
  std::int64_t rows = axis == 0 ? 0 : parts[0]->rows, columns = axis == 1 ? 0 : parts[0]->columns;
  std::int64_t valid_rows = parts[0]->valid_rows, valid_columns = parts[0]->valid_columns;
  for (const TileValue* part : parts) {
    (axis == 0 ? rows : columns) += axis == 0 ? part->rows : part->columns;
    valid_rows = std::min(valid_rows, part->valid_rows);
    valid_columns = std::min(valid_columns, part->valid_columns);
  }
  TileValue out(parts[0]->dtype, rows, columns);
  (axis == 0 ? out.valid_columns : out.valid_rows) = axis == 0 ? valid_columns : valid_rows;
  std::int64_t start = 0;
  for (const TileValue* part : parts) {
    for (std::int64_t r = 0; r < part->rows; ++r)
      for (std::int64_t c = 0; c < part->columns; ++c)
        copy(out, axis == 0 ? start + r : r, axis == 1 ? start + c : c, *part, r, c);
    start += axis == 0 ? part->rows : part->columns;
  }
  return out;
}

TileValue transpose_tile(const TileValue& a) {
  TileValue out(a.dtype, a.columns, a.rows);
  out.valid_rows = a.valid_columns;
  out.valid_columns = a.valid_rows;
  for (std::int64_t r = 0; r < out.rows; ++r)
    for (std::int64_t c = 0; c < out.columns; ++c) copy(out, r, c, a, c, r);
  return out;
}

TileValue reshape_tile(const TileValue& a, std::int64_t rows, std::int64_t columns) {
  TileValue out(a.dtype, rows, columns);
  out.values = a.values;
  out.defined = a.defined;
  return out;
}

TileValue reduce_tile(OpCode op, const TileValue& a, int axis) {
  const bool over_rows = axis == 0;
  TileValue out(DType::f32, over_rows ? 1 : a.rows, over_rows ? a.columns : 1);
  const std::int64_t kept = over_rows ? a.valid_columns : a.valid_rows;
  const std::int64_t reduced = over_rows ? a.valid_rows : a.valid_columns;
  (over_rows ? out.valid_columns : out.valid_rows) = kept;
  for (std::int64_t k = 0; k < kept; ++k) {
    double result = op == OpCode::reduce_max ? -std::numeric_limits<double>::infinity() : 0;
    bool defined = true;
    for (std::int64_t i = 0; i < reduced; ++i) {
      const std::size_t from = over_rows ? a.at(i, k) : a.at(k, i);
      defined = defined && a.defined[from];
      result = op == OpCode::reduce_max ? binary_value(OpCode::maximum, DType::f32, result, a.values[from])
                                        : result + a.values[from];
    }
    if (op == OpCode::reduce_mean) result /= static_cast<double>(reduced);
    if (defined) out.set(over_rows ? 0 : k, over_rows ? k : 0, round_to(DType::f32, result));
  }
  return out;
}

TileValue matmul_tile(const TileValue& a, const TileValue& b, const TileValue* accumulator, bool transposed) {
  TileValue out(DType::f32, a.rows, transposed ? b.rows : b.columns);
  out.valid_rows = a.valid_rows;
  out.valid_columns = transposed ? b.valid_rows : b.valid_columns;
  const std::int64_t inner = std::min(a.valid_columns, transposed ? b.valid_columns : b.valid_rows);
  for (std::int64_t r = 0; r < out.valid_rows; ++r)
    for (std::int64_t c = 0; c < out.valid_columns; ++c) {
      double result = accumulator ? accumulator->values[out.at(r, c)] : 0;
      bool defined = !accumulator || accumulator->defined[out.at(r, c)];
      for (std::int64_t k = 0; k < inner; ++k) {
        const std::size_t left = a.at(r, k), right = transposed ? b.at(c, k) : b.at(k, c);
        defined = defined && a.defined[left] && b.defined[right];
        result += a.values[left] * b.values[right];
      }
      if (defined) out.set(r, c, round_to(DType::f32, result));
    }
  return out;
}

std::vector<std::int64_t> top_k_columns(std::span<const double> row, std::int64_t k) {
  std::vector<std::int64_t> columns(row.size());
  std::iota(columns.begin(), columns.end(), 0);
  const auto before = [&](std::int64_t i, std::int64_t j) {
    const double a = row[static_cast<std::size_t>(i)], b = row[static_cast<std::size_t>(j)];
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a > b;
  };
  std::stable_sort(columns.begin(), columns.end(), before);
  columns.resize(static_cast<std::size_t>(k), -1);
  return columns;
}

TileValue top_k_tile(const TileValue& a, std::int64_t k, bool want_columns) {
  TileValue out(want_columns ? DType::i32 : DType::f32, a.rows, k);
  out.valid_rows = a.valid_rows;
  for (std::int64_t r = 0; r < a.valid_rows; ++r) {
    const std::span<const double> row(a.values.data() + a.at(r, 0), static_cast<std::size_t>(a.valid_columns));
    bool defined = true;
    for (std::int64_t c = 0; c < a.valid_columns; ++c) defined = defined && a.defined[a.at(r, c)];
    if (!defined) continue;
    const std::vector<std::int64_t> columns = top_k_columns(row, k);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t column = columns[static_cast<std::size_t>(i)];
      const double value =
          column < 0 ? -std::numeric_limits<double>::infinity() : row[static_cast<std::size_t>(column)];
      out.set(r, i, want_columns ? static_cast<double>(column) : value);
    }
  }
  return out;
}

}  // namespace tilewright::tile

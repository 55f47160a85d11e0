// Leaves of random tiles: tensors, numbers, axes.
#include <fmt/format.h>

#include <algorithm>

#include "tile/random/random_tiles.h"

namespace tilewright::tile {

Tile RandomTiles::leaf(const Axis& rows, const Axis& columns, DType dtype) {
  if (!rows.by_node && !columns.by_node) return plain_leaf(rows, columns, dtype);
  const auto whole_axis = [](Axis axis) {
    if (axis.by_node) axis.restricted = axis.by_node = false;
    return axis;
  };
  const Axis only_rows = rows.by_node ? rows : Axis{}, only_columns = columns.by_node ? columns : Axis{};
  return restrict(plain_leaf(whole_axis(rows), whole_axis(columns), dtype), only_rows, only_columns);
}

Tile RandomTiles::plain_leaf(const Axis& rows, const Axis& columns, DType dtype) {
  if (r.chance(18)) {
    const double value = dtype == DType::b8    ? static_cast<double>(r.below(2))
                         : dtype == DType::i32 ? static_cast<double>(r.between(-5, 30))
                                               : static_cast<double>(r.between(-16, 16)) / 8;
    return filled(value, rows, columns, dtype);
  }
  if (dtype == DType::f32 && r.chance(6)) {
    const auto number = static_cast<std::int64_t>(out_.scalars.size());
    const Tile scalar = b.scalar(fmt::format("s{}", number));
    out_.scalars.push_back(static_cast<double>(r.between(-24, 24)) / 8);
    return spread(scalar, rows, columns);
  }
  if (r.chance(8)) return gather(rows, columns, dtype, 1);
  return view(rows, columns, dtype);
}

Tile RandomTiles::view(const Axis& rows, const Axis& columns, DType dtype) {
  TileShape shape{rows.extent, columns.extent};
  const Valid extents =
      rows.restricted && columns.restricted && r.chance(50) ? valid(rows.valid, columns.valid) : to_end;
  if (rows.id == 0 && r.chance(40)) return b.view(input(dtype, {columns.dim}), {columns.offset}, shape, extents);
  if (heads_ && r.chance(60))
    return b.view(input(dtype, {heads_->dim, rows.dim, columns.dim}), {heads_->position, rows.offset, columns.offset},
                  shape, extents);
  if (r.chance(12)) {
    shape.row_dim = 1;
    shape.column_dim = 0;
    return b.view(input(dtype, {columns.dim, rows.dim}, true), {columns.offset, rows.offset}, shape, extents);
  }
  return b.view(input(dtype, {rows.dim, columns.dim}), {rows.offset, columns.offset}, shape, extents);
}

Tile RandomTiles::gather(const Axis& rows, const Axis& columns, DType dtype, int depth) {
  if (rows.by_node || columns.by_node) return {};
  const Dim table = r.chance(50) ? symbol() : Dim(r.between(1, 9));
  const Tile which = make(rows, Axis{}, DType::i32, depth - 1);
  Valid extents = to_end;
  if (rows.restricted) {
    const Index width = columns.extent.fixed() ? Index(columns.extent.size) : columns.valid;
    extents = valid(rows.valid, columns.restricted ? columns.valid : width);
  }
  const TileShape shape{rows.extent, columns.extent};
  return b.gather(input(dtype, {table, columns.dim}), which, {0, columns.offset}, shape, extents);
}

Tile RandomTiles::restrict(Tile tile, const Axis& rows, const Axis& columns) {
  if (!rows.restricted && !columns.restricted) return tile;
  const ValueId row_count = rows.restricted ? rows.valid.id(b) : kNone;
  const ValueId column_count = columns.restricted ? columns.valid.id(b) : kNone;
  return {b, b.append({.op = OpCode::restrict, .operands = {tile.id(), row_count, column_count}})};
}

Tile RandomTiles::filled(double value, const Axis& rows, const Axis& columns, DType dtype) {
  if (r.chance(50)) return b.constant(value, rows.extent, columns.extent, dtype);
  return spread(b.constant(value, {}, {}, dtype), rows, columns);
}

Tile RandomTiles::spread(Tile one, const Axis& rows, const Axis& columns) {
  if (one.type().rows == rows.extent && one.type().columns == columns.extent) return one;
  return broadcast(one, rows.extent, columns.extent);
}

Axis RandomTiles::fixed_axis(std::int64_t size) {
  Axis axis;
  axis.id = ++axes_made_;
  axis.extent = {size};
  axis.most = size;
  const std::int64_t before = r.chance(25) ? r.between(0, 3) : 0, after = r.chance(25) ? r.between(0, 3) : 0;
  axis.dim = Dim(size + before + after);
  axis.offset = before;
  return axis;
}

Axis RandomTiles::whole_symbol_axis() {
  const std::int64_t size = r.of<std::int64_t>({2, 8, 16, 16, 24, 33, 64, 70});
  const Dim dim = symbol();
  return loop_axis(dim, 0, {size}, size, size);
}

Axis RandomTiles::loop_axis(const Dim& dim, Index variable, Extent extent, Index extent_index, std::int64_t most) {
  Axis axis;
  axis.id = ++axes_made_;
  axis.extent = extent;
  axis.most = most;
  axis.dim = dim;
  axis.offset = variable;
  axis.restricted = !extent.one();
  if (axis.restricted)
    axis.valid = min(extent_index, variable.literal() && variable.value() == 0 ? Index(dim) : Index(dim) - variable);
  return axis;
}

Axis RandomTiles::inner_axis(const Axis& beside) {
  if (!axes_.empty() && r.chance(50)) {
    const Axis& axis =
        axes_[axes_.size() - 1 -
              static_cast<std::size_t>(r.below(std::min<std::int64_t>(2, static_cast<std::int64_t>(axes_.size()))))];
    if (axis.id != beside.id && fits(axis, beside)) return axis;
  }
  if (r.chance(40)) {
    const Axis axis = whole_symbol_axis();
    if (fits(axis, beside)) {
      if (!scopes_.empty()) axes_.push_back(axis);
      return axis;
    }
  }
  Axis axis = fixed_axis(r.of<std::int64_t>({1, 2, 3, 5, 8, 16, 17, 48, 64}));
  if (r.chance(25) && axis.extent.size > 1) {
    axis.restricted = axis.by_node = true;
    axis.valid = bound(axis.extent.size);
  }
  return axis;
}

Dim RandomTiles::symbol() {
  auto number = static_cast<int>(out_.dims.size());
  if (number > 0 && (number >= 5 || r.chance(55))) {
    number = static_cast<int>(r.below(number));
    return {TensorDim{-1, number}, Index(b, b.append({.op = OpCode::index_dim, .integer = number}))};
  }
  out_.dims.push_back(r.of<std::int64_t>({0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 31, 33, 40, 70}));
  const Dim dim = b.dim(fmt::format("n{}", number));
  // Every dim needs a tensor that gives it a value.
  input(DType::f32, {dim}, false, TileCase::Fill::grid, 0, 1);
  return dim;
}

Builder::Chosen RandomTiles::parameter() {
  return b.tile(fmt::format("t{}", b.program().tiles.size()),
                r.chance(50) ? std::vector<std::int64_t>{4, 8, 16} : std::vector<std::int64_t>{2, 3});
}

Index RandomTiles::index(int depth) {
  if (depth > 0 && r.chance(40)) {
    const Index a = index(depth - 1), c = index(depth - 1);
    switch (r.below(7)) {
      case 0:
        return a + c;
      case 1:
        return a - c;
      case 2:
        return a * c;
      case 3:
        return a / c;
      case 4:
        return a % c;
      case 5:
        return min(a, c);
      default:
        return max(a, c);
    }
  }
  const std::int64_t what = r.below(10);
  if (what < 3 && !variables_.empty()) return r.of(variables_);
  if (what < 4 && !out_.dims.empty()) {
    const std::int64_t number = r.below(static_cast<std::int64_t>(out_.dims.size()));
    return {b, b.append({.op = OpCode::index_dim, .integer = number})};
  }
  if (what < 5) return load();
  if (what < 6) {
    const auto number = static_cast<std::int64_t>(out_.scalars.size());
    out_.scalars.push_back(static_cast<double>(r.between(-3, 20)));
    return b.index_scalar(fmt::format("i{}", number));
  }
  return r.between(-3, 12);
}

Index RandomTiles::bound(Index most) {
  switch (r.below(5)) {
    case 0:
      return min(most, load());
    case 1:
      return min(most, max(index(1), 0));
    default:
      return most;
  }
}

Index RandomTiles::load() {
  const std::int64_t count = 4;
  const TensorHandle lengths =
      input(r.chance(60) ? DType::i32 : DType::i64, {Dim(count)}, false, TileCase::Fill::whole, -2, 30);
  return b.load(lengths, {r.below(count)});
}

TensorHandle RandomTiles::input(DType dtype, const std::vector<Dim>& shape, bool turned) {
  if (dtype == DType::b8) return input(dtype, shape, turned, TileCase::Fill::whole, 0, 1);
  if (dtype == DType::i32) return input(dtype, shape, turned, TileCase::Fill::whole, -3, 12);
  const std::int64_t kind = r.below(100);
  return input(dtype, shape, turned,
               kind < 50   ? TileCase::Fill::grid
               : kind < 92 ? TileCase::Fill::normal
                           : TileCase::Fill::edges,
               0, 1);
}

TensorHandle RandomTiles::input(DType dtype, const std::vector<Dim>& shape, bool turned, TileCase::Fill fill,
                                std::int64_t low, std::int64_t high) {
  std::vector<TensorDim> extents;
  for (const Dim& dim : shape) extents.push_back(dim.extent);
  std::vector<TensorHandle> alike;
  for (const Input& old : inputs_)
    if (old.dtype == dtype && old.shape == extents && old.turned == turned && old.fill == fill && old.low == low &&
        old.high == high)
      alike.push_back(old.handle);
  if (!alike.empty() && r.chance(60)) return r.of(alike);
  const std::string name = fmt::format("x{}", inputs_.size());
  const TensorHandle handle = shape.size() == 1   ? b.input(name, dtype, {shape[0]})
                              : shape.size() == 2 ? b.input(name, dtype, {shape[0], shape[1]})
                                                  : b.input(name, dtype, {shape[0], shape[1], shape[2]});
  inputs_.push_back({dtype, extents, turned, fill, low, high, handle});
  add_tensor_data(fill, low, high);
  return handle;
}

TensorHandle RandomTiles::output(DType dtype, const std::vector<Dim>& shape) {
  const std::string name = fmt::format("y{}", b.program().tensors.size());
  add_tensor_data(TileCase::Fill::grid);
  return shape.size() == 2 ? b.output(name, dtype, {shape[0], shape[1]})
                           : b.output(name, dtype, {shape[0], shape[1], shape[2]});
}

void RandomTiles::add_tensor_data(TileCase::Fill fill, std::int64_t low, std::int64_t high) {
  out_.tensors.push_back({fill, low, high, r.chance(50) ? r.between(1, 9) : 0, r.bits()});
}

void RandomTiles::enter(const Axis* axis, const Index* variable) {
  scopes_.push_back({known_.size(), axes_.size(), variables_.size()});
  if (axis) axes_.push_back(*axis);
  if (variable) variables_.push_back(*variable);
}

void RandomTiles::leave() {
  const Scope scope = scopes_.back();
  scopes_.pop_back();
  known_.resize(scope.known);
  axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(scope.axes), axes_.end());
  variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(scope.variables), variables_.end());
}

}  // namespace tilewright::tile

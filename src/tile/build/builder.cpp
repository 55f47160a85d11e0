#include "tile/build/builder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tile/ir/type_rule.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {

Builder::Builder(std::string name) {
  program_.name = std::move(name);
  program_.blocks.emplace_back();
  open_.push_back(0);
}

ValueId Builder::append(Node node) {
  node.type = type_rule(program_, node);
  const auto id = static_cast<ValueId>(program_.nodes.size());
  program_.nodes.push_back(std::move(node));
  program_.block(open_.back()).nodes.push_back(id);
  return id;
}

Dim Builder::dim(const std::string& name) {
  const int symbol = static_cast<int>(program_.dims.size());
  program_.dims.push_back(name);
  return Dim(TensorDim{-1, symbol}, Index(*this, append({.op = OpCode::index_dim, .integer = symbol})));
}

TensorHandle Builder::tensor(const std::string& name, DType dtype, std::initializer_list<Dim> shape, Access access) {
  TensorParameter parameter{name, dtype, {}, access};
  for (const Dim& dim : shape) parameter.shape.push_back(dim.extent);
  program_.tensors.push_back(std::move(parameter));
  return {static_cast<int>(program_.tensors.size()) - 1};
}
TensorHandle Builder::input(const std::string& name, DType dtype, std::initializer_list<Dim> shape) {
  return tensor(name, dtype, shape, Access::read);
}
TensorHandle Builder::output(const std::string& name, DType dtype, std::initializer_list<Dim> shape) {
  return tensor(name, dtype, shape, Access::write);
}

Tile Builder::scalar(const std::string& name) {
  program_.scalars.push_back({name, DType::f32});
  const auto number = static_cast<std::int64_t>(program_.scalars.size()) - 1;
  return {*this, append({.op = OpCode::scalar, .integer = number})};
}
Index Builder::index_scalar(const std::string& name) {
  program_.scalars.push_back({name, DType::i64});
  const auto number = static_cast<std::int64_t>(program_.scalars.size()) - 1;
  return {*this, append({.op = OpCode::index_scalar, .integer = number})};
}

Builder::Chosen Builder::tile(const std::string& name, std::vector<std::int64_t> choices) {
  const int parameter = static_cast<int>(program_.tiles.size());
  program_.tiles.push_back({name, std::move(choices), 0});
  // A chosen size as an index is a constant that choose_tiles fills in: integer2 names the parameter, plus one.
  Node node{.op = OpCode::index_constant, .integer = 0, .integer2 = parameter + 1};
  return {Extent{0, parameter}, Index(*this, append(std::move(node)))};
}

void Builder::add_access(Node& node, const std::string& what, TensorHandle tensor, std::initializer_list<Index> offsets,
                         const TileShape& shape, const Valid& valid) {
  const TensorParameter& parameter = program_.tensor(tensor.tensor);
  const int rank = static_cast<int>(parameter.shape.size());
  if (static_cast<int>(offsets.size()) != rank)
    fail({.what = fmt::format("{} of {} has the wrong number of offsets", what, parameter.name),
          .where = fmt::format("tile program {}", program_.name),
          .expected = fmt::format("{}, one per dim of the tensor", rank),
          .found = std::to_string(offsets.size()),
          .fix = "give an offset for every dim; those that are not rows or columns pick one position"});
  const auto from_end = [&](int dim) { return dim >= 0 ? dim : dim + rank; };
  node.tensor = tensor.tensor;
  node.column_dim = from_end(shape.column_dim);
  node.row_dim = shape.row_dim == TileShape::no_dim ? kNone : std::max(from_end(shape.row_dim), kNone);
  if (node.column_dim < 0 || node.column_dim >= rank || node.row_dim >= rank || node.row_dim == node.column_dim)
    fail({.what = fmt::format("{} of {} runs along dims that it does not have", what, parameter.name),
          .where = fmt::format("tile program {}", program_.name),
          .expected = fmt::format("two different dims of 0 … {}", rank - 1),
          .found = fmt::format("rows along {}, columns along {}", shape.row_dim, shape.column_dim),
          .fix = "a single row may use TileShape::no_dim"});
  std::vector<Index> list(offsets);
  for (const Index& offset : list) node.operands.push_back(offset.id(*this));
  const auto extent_index = [&](const Extent& extent) {
    if (extent.fixed()) return Index(extent.size);
    return Index(*this, append({.op = OpCode::index_constant, .integer2 = extent.parameter + 1}));
  };
  const auto left = [&](int dim, const Extent& extent) -> ValueId {
    const TensorDim& size = parameter.shape[static_cast<std::size_t>(dim)];
    const Index& offset = list[static_cast<std::size_t>(dim)];
    if (extent.one()) return kNone;
    if (size.symbol == kNone && extent.fixed() && offset.literal() && offset.value() + extent.size <= size.size)
      return kNone;
    const Index all = size.symbol == kNone ? Index(size.size)
                                           : Index(*this, append({.op = OpCode::index_dim, .integer = size.symbol}));
    const Index rest = offset.literal() && offset.value() == 0 ? all : all - offset;
    return min(extent_index(extent), rest).id(*this);
  };
  ValueId rows = kNone, columns = kNone;
  if (valid.kind == Valid::Kind::to_end) {
    if (node.row_dim != kNone && node.op != OpCode::gather) rows = left(node.row_dim, shape.rows);
    columns = left(node.column_dim, shape.columns);
  } else if (valid.kind == Valid::Kind::given) {
    rows = valid.rows.id(*this);
    columns = valid.columns.id(*this);
  }
  node.operands.push_back(rows);
  node.operands.push_back(columns);
}

Tile Builder::view(TensorHandle tensor, std::initializer_list<Index> offsets, TileShape shape, const Valid& valid) {
  Node node{.op = OpCode::view, .type = {.rows = shape.rows, .columns = shape.columns}};
  add_access(node, "view", tensor, offsets, shape, valid);
  return {*this, append(std::move(node))};
}

Tile Builder::gather(TensorHandle tensor, Tile rows, std::initializer_list<Index> offsets, TileShape shape,
                     const Valid& valid) {
  Node node{.op = OpCode::gather, .type = {.rows = shape.rows, .columns = shape.columns}, .operands = {rows.id()}};
  add_access(node, "gather", tensor, offsets, shape, valid);
  if (node.row_dim != kNone) node.operands[static_cast<std::size_t>(1 + node.row_dim)] = kNone;
  return {*this, append(std::move(node))};
}

void Builder::assemble(Tile tile, TensorHandle tensor, std::initializer_list<Index> offsets, const Valid& valid,
                       int row_dim, int column_dim) {
  Node node{.op = OpCode::assemble, .operands = {tile.id()}};
  const TileShape shape{tile.type().rows, tile.type().columns, row_dim, column_dim};
  add_access(node, "assemble", tensor, offsets, shape, valid);
  append(std::move(node));
}

Index Builder::load(TensorHandle tensor, std::initializer_list<Index> offsets) {
  Node node{.op = OpCode::index_load, .tensor = tensor.tensor};
  for (const Index& offset : offsets) node.operands.push_back(offset.id(*this));
  return {*this, append(std::move(node))};
}

Tile Builder::constant(double value, Extent rows, Extent columns, DType dtype) {
  return {
      *this,
      append({.op = OpCode::constant, .type = {.dtype = dtype, .rows = rows, .columns = columns}, .number = value})};
}
Tile Builder::from_index(Index value) {
  return {*this, append({.op = OpCode::from_index, .operands = {value.id(*this)}})};
}
Tile Builder::iota(Extent rows, Extent columns, int axis, Index first) {
  return {*this, append({.op = OpCode::iota,
                         .type = {.dtype = DType::i32, .rows = rows, .columns = columns},
                         .operands = {first.id(*this)},
                         .axis = axis})};
}
Tile Builder::restrict(Tile tile, Index rows, Index columns) {
  return {*this, append({.op = OpCode::restrict, .operands = {tile.id(), rows.id(*this), columns.id(*this)}})};
}

namespace {

Node loop_node(Builder& builder, const Index& start, const Index& stop, const Index& step) {
  Node node{.op = OpCode::loop};
  node.operands = {start.id(builder), stop.id(builder), step.id(builder)};
  return node;
}

}  // namespace

std::vector<Tile> Builder::loop(const std::string& name, Index start, Index stop, Index step,
                                const std::vector<Tile>& initial,
                                const std::function<std::vector<Tile>(Index, const std::vector<Tile>&)>& body) {
  Node node = loop_node(*this, start, stop, step);
  for (const Tile& tile : initial) node.operands.push_back(tile.id());
  node.body = static_cast<BlockId>(program_.blocks.size());
  const BlockId inner = node.body;
  program_.blocks.emplace_back();
  program_.block(inner).variable = name;
  const auto argument = [&](OpCode op, const Type& type) {
    const auto id = static_cast<ValueId>(program_.nodes.size());
    program_.nodes.push_back({.op = op, .type = type});
    program_.block(inner).arguments.push_back(id);
    return id;
  };
  const Index variable(*this, argument(OpCode::loop_variable, {.index = true}));
  std::vector<Tile> carried;
  for (const Tile& tile : initial) carried.emplace_back(*this, argument(OpCode::carried, tile.type()));
  open_.push_back(inner);
  const std::vector<Tile> next = body(variable, carried);
  open_.pop_back();
  if (next.size() != initial.size())
    fail({.what = "a loop's body gives another number of tiles than the loop carries",
          .where = fmt::format("tile program {}", program_.name),
          .expected = std::to_string(initial.size()),
          .found = std::to_string(next.size()),
          .fix = "return one tile for each carried one"});
  for (const Tile& tile : next) program_.block(inner).yields.push_back(tile.id());
  const ValueId loop = append(std::move(node));
  std::vector<Tile> results;
  for (std::size_t i = 0; i < initial.size(); ++i)
    results.emplace_back(*this,
                         append({.op = OpCode::result, .operands = {loop}, .integer = static_cast<std::int64_t>(i)}));
  return results;
}

void Builder::loop(const std::string& variable, Index start, Index stop, Index step,
                   const std::function<void(Index)>& body) {
  loop(variable, start, stop, step, {}, [&](Index index, const std::vector<Tile>&) {
    body(index);
    return std::vector<Tile>{};
  });
}

void Builder::parallel(const std::string& variable, Index start, Index stop, Index step,
                       const std::function<void(Index)>& body) {
  loop(variable, start, stop, step, body);
  program_.nodes.back().parallel = true;
}

Tile Builder::is_first(Index loop_variable) {
  return {*this, append({.op = OpCode::is_first, .operands = {loop_variable.id(*this)}})};
}
Tile Builder::is_last(Index loop_variable) {
  return {*this, append({.op = OpCode::is_last, .operands = {loop_variable.id(*this)}})};
}

Program Builder::finish() {
  verify(program_);
  return std::move(program_);
}

}  // namespace tilewright::tile

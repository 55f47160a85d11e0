#include "ops/core/derive/row_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/error.h"
#include "tile/build/builder.h"

namespace tilewright::ops {
namespace {

using tile::Builder;
using tile::Dim;
using tile::Extent;
using tile::Index;
using tile::OpCode;
using tile::Tile;
using Kind = RowNode::Kind;

constexpr std::size_t kMaxDims = 5;

// Calls f with a braced list of the items: the builder takes positions and shapes in this form.
template <typename T, typename F>
auto with_list(const std::vector<T>& v, const F& f) {
  switch (v.size()) {
    case 2:
      return f({v[0], v[1]});
    case 3:
      return f({v[0], v[1], v[2]});
    case 4:
      return f({v[0], v[1], v[2], v[3]});
    case 5:
      return f({v[0], v[1], v[2], v[3], v[4]});
    default:
      TW_CHECK(v.size() == 6);
      return f({v[0], v[1], v[2], v[3], v[4], v[5]});
  }
}

bool costs(OpCode op) {
  switch (op) {
    case OpCode::exp:
    case OpCode::log:
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::tanh:
    case OpCode::erf:
    case OpCode::sigmoid:
    case OpCode::silu:
    case OpCode::gelu:
    case OpCode::gelu_tanh:
      return true;
    default:
      return false;
  }
}

class NestEmitter {
 public:
  NestEmitter(Builder& builder, const RowNest& nest, const std::vector<Tile>& scalars, Builder::Chosen chunk)
      : b_(builder), nest_(nest), scalars_(scalars), chunk_(chunk) {
    zero_ = top_constant(0);
    one_ = top_constant(1);
    for (std::size_t i = 0; i < nest.nodes.size(); ++i) levels_.push_back(level_of(static_cast<int>(i)));
  }

  void declare(const std::string& prefix, const std::vector<std::string>& names) {
    const std::size_t count = nest_.extents.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = i + 1 == count ? "rows" : fmt::format("outer{}", count - 1 - i);
      row_dims_.push_back(b_.dim(prefix + name));
    }
    for (std::size_t t = 0; t < nest_.tensors.size(); ++t) {
      const RowTensor& tensor = nest_.tensors[t];
      std::vector<Dim> shape(row_dims_);
      if (tensor.single || nest_.fixed) {
        shape.emplace_back(tensor.width);
      } else {
        if (!widths_.count(tensor.width))
          widths_.emplace(tensor.width,
                          b_.dim(prefix + (widths_.empty() ? "width" : fmt::format("width{}", widths_.size() + 1))));
        shape.push_back(widths_.at(tensor.width));
      }
      handles_.push_back(with_list<Dim>(shape, [&](std::initializer_list<Dim> list) {
        return tensor.output ? b_.output(names[t], tensor.dtype, list) : b_.input(names[t], tensor.dtype, list);
      }));
    }
  }

  void emit() {
    if (nest_.fixed) return over_rows(0, row_dims_[0], [&] { whole_row(); });
    if (!nest_.reduces()) return emit_pointwise();
    if (!keeps_values()) return over_rows(0, row_dims_[0], [&] { chunked_row(); });
    // Rows that fit a chunk, then the others: of the two nests one has no rows.
    const Index fits = min(one_, chunk_.index / widths_.begin()->second.index);
    const Index first = row_dims_[0].index;
    const Index held = first * fits;
    over_rows(0, held, [&] { whole_row(); });
    over_rows(0, first - held, [&] { chunked_row(); });
  }

 private:
  // What was computed for the row (values of one element) or for the chunk of columns at hand.
  struct Scope {
    std::map<int, Tile> tiles, narrow;
    Index column = 0;
  };

  Index top_constant(std::int64_t value) { return {b_, b_.append({.op = OpCode::index_constant, .integer = value})}; }
  const RowNode& at(int node) const { return nest_.nodes[static_cast<std::size_t>(node)]; }
  int level(int node) const { return levels_[static_cast<std::size_t>(node)]; }
  int level_of(int node) const {
    int out = 0;
    for (const int argument : at(node).arguments) out = std::max(out, level(argument));
    return out + (at(node).kind == Kind::reduce ? 1 : 0);
  }

  // Nodes that the roots need within one pass over the columns: reductions and values of one element end it.
  std::set<int> cone(const std::vector<int>& roots) const {
    std::set<int> seen;
    std::vector<int> open(roots);
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (at(node).single || !seen.insert(node).second) continue;
      open.insert(open.end(), at(node).arguments.begin(), at(node).arguments.end());
    }
    return seen;
  }
  std::vector<int> output_nodes() const {
    std::vector<int> out;
    for (const RowOutput& output : nest_.outputs) out.push_back(output.node);
    return out;
  }
  std::vector<int> operands_at(int level_wanted) const {
    std::vector<int> out;
    for (std::size_t i = 0; i < nest_.nodes.size(); ++i)
      if (nest_.nodes[i].kind == Kind::reduce && levels_[i] == level_wanted)
        out.insert(out.end(), nest_.nodes[i].arguments.begin(), nest_.nodes[i].arguments.end());
    return out;
  }
  bool keeps_values() const {
    if (widths_.size() != 1) return false;
    std::map<int, int> passes;
    for (const int node : cone(output_nodes())) ++passes[node];
    for (int l = 1; l <= *std::max_element(levels_.begin(), levels_.end()); ++l)
      for (const int node : cone(operands_at(l))) ++passes[node];
    return std::any_of(passes.begin(), passes.end(), [&](const auto& one) {
      return one.second > 1 && at(one.first).kind == Kind::compute && costs(at(one.first).op);
    });
  }

  template <typename F>
  void over_rows(std::size_t dim, const Index& first_extent, const F& body) {
    if (dim == row_dims_.size()) {
      row_ = Scope{};
      body();
      return;
    }
    const std::string name = dim + 1 == row_dims_.size() ? "row" : fmt::format("i{}", row_dims_.size() - 1 - dim);
    b_.parallel(name, zero_, dim == 0 ? first_extent : row_dims_[dim].index, one_, [&](Index i) {
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(dim), rows_.end());
      rows_.push_back(i);
      over_rows(dim + 1, first_extent, body);
    });
  }

  std::vector<Index> place(Index column) const {
    std::vector<Index> out(rows_);
    out.push_back(column);
    return out;
  }

  // Parts of fixed rows have their length, whole rows lie in chunks.
  Extent columns(std::int64_t length) const { return nest_.fixed ? Extent{length} : chunk_.extent; }

  Tile spread(Tile tile, Extent to) { return tile.type().columns == to ? tile : broadcast(tile, Extent{1}, to); }

  Tile emit(int node, Scope& chunk) {
    const RowNode& n = at(node);
    Scope& scope = n.single ? row_ : chunk;
    const auto known = scope.tiles.find(node);
    if (known != scope.tiles.end()) return known->second;
    std::vector<Tile> arguments;
    if (n.kind != Kind::reduce)
      for (const int argument : n.arguments) arguments.push_back(emit(argument, chunk));
    const Tile tile = n.kind == Kind::reduce ? reduced(n, chunk) : computed(node, n, arguments, scope);
    scope.tiles[node] = tile;
    return tile;
  }

  Tile computed(int node, const RowNode& n, std::vector<Tile>& arguments, Scope& scope) {
    switch (n.kind) {
      case Kind::leaf: {
        const tile::TileShape shape{Extent{1}, n.single ? Extent{1} : columns(n.part.length)};
        const Index column = n.single ? Index(0) : nest_.fixed ? Index(n.part.begin) : scope.column;
        const Tile read = with_list<Index>(place(column), [&](std::initializer_list<Index> list) {
          return b_.view(handles_[static_cast<std::size_t>(n.index)], list, shape, tile::to_end);
        });
        scope.narrow[node] = read;
        return n.dtype == DType::b8 ? read : cast(read, DType::f32);
      }
      case Kind::number:
        return b_.constant(n.value);
      case Kind::scalar:
        return scalars_[static_cast<std::size_t>(n.index)];
      case Kind::extent:
        if (nest_.fixed) return b_.constant(static_cast<double>(n.part.length));
        return cast(b_.from_index(widths_.at(n.part.length).index), DType::f32);
      case Kind::round: {
        const Tile rounded = cast(arguments[0], n.dtype);
        scope.narrow[node] = rounded;
        return cast(rounded, DType::f32);
      }
      default:
        break;
    }
    if (arguments.size() == 1) return unary(n.op, arguments[0]);
    if (arguments.size() == 2) return binary(n.op, arguments[0], arguments[1]);
    if (!n.single)
      for (Tile& argument : arguments) argument = spread(argument, columns(n.part.length));
    return where(arguments[0], arguments[1], arguments[2]);
  }

  static Tile fold(OpCode op, Tile tile) { return op == OpCode::reduce_sum ? sum(tile, 1) : max(tile, 1); }
  static Tile combined(OpCode op, Tile a, Tile b) { return op == OpCode::reduce_sum ? a + b : maximum(a, b); }

  Tile reduced(const RowNode& n, Scope& chunk) {
    Tile out;
    for (const int argument : n.arguments) {
      const Tile part = fold(n.op, emit(argument, chunk));
      out = out.defined() ? combined(n.op, out, part) : part;
    }
    return out;
  }

  // Values of one element that the roots need, so that they stand before the loop over columns.
  void prepare(const std::vector<int>& roots) {
    std::set<int> seen;
    std::vector<int> open(roots);
    Scope none;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      if (at(node).single)
        emit(node, none);
      else
        open.insert(open.end(), at(node).arguments.rbegin(), at(node).arguments.rend());
    }
  }

  void write(const RowOutput& output, Scope& scope) {
    const RowTensor& tensor = nest_.tensors[static_cast<std::size_t>(output.tensor)];
    Tile tile = emit(output.node, scope);
    Scope& home = at(output.node).single ? row_ : scope;
    const auto narrow = home.narrow.find(output.node);
    if (narrow != home.narrow.end() && narrow->second.dtype() == tensor.dtype) tile = narrow->second;
    tile = cast(tile, tensor.dtype);
    if (!tensor.single) tile = spread(tile, columns(output.part.length));
    const Index column = tensor.single ? Index(0) : nest_.fixed ? Index(output.part.begin) : scope.column;
    with_list<Index>(place(column), [&](std::initializer_list<Index> list) {
      b_.assemble(tile, handles_[static_cast<std::size_t>(output.tensor)], list, tile::to_end);
    });
  }

  void whole_row() {
    Scope scope;
    for (const RowOutput& output : nest_.outputs) write(output, scope);
  }

  void emit_pointwise() {
    if (widths_.empty()) return over_rows(0, row_dims_[0], [&] { whole_row(); });
    over_rows(0, row_dims_[0], [&] {
      b_.parallel("column", zero_, widths_.begin()->second.index, chunk_.index, [&](Index column) {
        row_ = Scope{};
        Scope scope;
        scope.column = column;
        for (const RowOutput& output : nest_.outputs) write(output, scope);
      });
    });
  }

  void chunked_row() {
    const int top = *std::max_element(levels_.begin(), levels_.end());
    for (int l = 1; l <= top; ++l) {
      std::map<std::int64_t, std::vector<int>> by_width;
      for (std::size_t i = 0; i < nest_.nodes.size(); ++i)
        if (nest_.nodes[i].kind == Kind::reduce && levels_[i] == l)
          by_width[nest_.nodes[i].part.length].push_back(static_cast<int>(i));
      for (const auto& [width, reductions] : by_width) reduce_chunks(width, reductions);
    }
    prepare(output_nodes());
    std::vector<const RowOutput*> wide;
    Scope none;
    for (const RowOutput& output : nest_.outputs) {
      if (nest_.tensors[static_cast<std::size_t>(output.tensor)].single)
        write(output, none);
      else
        wide.push_back(&output);
    }
    if (wide.empty()) return;
    b_.loop("column", zero_, widths_.at(wide[0]->part.length).index, chunk_.index, [&](Index column) {
      Scope scope;
      scope.column = column;
      for (const RowOutput* output : wide) write(*output, scope);
    });
  }

  void reduce_chunks(std::int64_t width, const std::vector<int>& reductions) {
    std::vector<int> operands;
    std::vector<Tile> initial;
    for (const int reduction : reductions) {
      operands.push_back(at(reduction).arguments[0]);
      const bool adds = at(reduction).op == OpCode::reduce_sum;
      initial.push_back(b_.constant(adds ? 0 : -std::numeric_limits<double>::infinity()));
    }
    prepare(operands);
    const std::vector<Tile> results =
        b_.loop("column", zero_, widths_.at(width).index, chunk_.index, initial,
                [&](Index column, const std::vector<Tile>& carried) {
                  Scope scope;
                  scope.column = column;
                  std::vector<Tile> next;
                  for (std::size_t i = 0; i < reductions.size(); ++i) {
                    const OpCode op = at(reductions[i]).op;
                    next.push_back(combined(op, carried[i], fold(op, emit(operands[i], scope))));
                  }
                  return next;
                });
    for (std::size_t i = 0; i < reductions.size(); ++i) row_.tiles[reductions[i]] = results[i];
  }

  Builder& b_;
  const RowNest& nest_;
  const std::vector<Tile>& scalars_;
  Builder::Chosen chunk_;
  Index zero_ = 0, one_ = 1;
  std::vector<int> levels_;
  std::vector<Dim> row_dims_;
  std::map<std::int64_t, Dim> widths_;
  std::vector<tile::TensorHandle> handles_;
  std::vector<Index> rows_;
  Scope row_;
};

}  // namespace

void pad(RowGraph& graph) {
  for (RowNest& nest : graph.nests) {
    const std::size_t now = nest.extents.size();
    const std::size_t wanted = now <= 1 ? 1 : std::max<std::size_t>(now, 3);
    nest.extents.insert(nest.extents.begin(), wanted - now, 1);
    for (RowTensor& t : nest.tensors) t.strides.insert(t.strides.begin(), wanted - now, 0);
  }
}

tile::Program row_program(const std::string& name, const RowGraph& graph, std::span<const ChainInput> inputs,
                          std::span<const ChainOutput> outputs) {
  Builder builder(name);
  const bool chunks = std::any_of(graph.nests.begin(), graph.nests.end(), [](const RowNest& n) { return !n.fixed; });
  const bool reduces =
      std::any_of(graph.nests.begin(), graph.nests.end(), [](const RowNest& n) { return n.reduces(); });
  Builder::Chosen chunk{Extent{1}, Index(1)};
  if (chunks)
    chunk = builder.tile("columns", reduces ? std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192, 16384}
                                            : std::vector<std::int64_t>{256, 512, 1024, 2048, 4096});
  std::vector<Tile> scalars;
  for (const RowScalar& scalar : graph.scalars) scalars.push_back(builder.scalar(scalar.name));
  std::map<std::string, int> used;
  std::vector<std::unique_ptr<NestEmitter>> emitters;
  for (const RowNest& nest : graph.nests) {
    if (nest.extents.size() > kMaxDims)
      throw NotRowWise{fmt::format("its rows run along {} dims that do not join", nest.extents.size())};
    std::vector<std::string> names;
    for (const RowTensor& t : nest.tensors) {
      const auto source = static_cast<std::size_t>(t.source);
      const std::string base = t.output ? outputs[source].name : inputs[source].name;
      const int count = ++used[base];
      names.push_back(count == 1 ? base : fmt::format("{}_{}", base, count));
    }
    const std::string prefix = graph.nests.size() == 1 ? "" : names[0] + "_";
    emitters.push_back(std::make_unique<NestEmitter>(builder, nest, scalars, chunk));
    emitters.back()->declare(prefix, names);
  }
  for (const auto& emitter : emitters) emitter->emit();
  return builder.finish();
}

}  // namespace tilewright::ops

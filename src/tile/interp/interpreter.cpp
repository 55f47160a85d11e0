#include "tile/interp/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "tile/interp/write_log.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

std::int64_t index_arithmetic(OpCode op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const auto floor_quotient = [&]() -> std::int64_t {
    if (b == -1) return static_cast<std::int64_t>(0 - x);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  switch (op) {
    case OpCode::index_add:
      return static_cast<std::int64_t>(x + y);
    case OpCode::index_sub:
      return static_cast<std::int64_t>(x - y);
    case OpCode::index_mul:
      return static_cast<std::int64_t>(x * y);
    case OpCode::index_div:
      return b == 0 ? 0 : floor_quotient();
    case OpCode::index_mod:
      return b == 0 ? 0 : static_cast<std::int64_t>(x - static_cast<std::uint64_t>(floor_quotient()) * y);
    case OpCode::index_min:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

class Execution {
 public:
  Execution(const Program& program, const Arguments& arguments, Watcher* watcher)
      : program_(program), arguments_(arguments), watcher_(watcher), dims_(bind_arguments(program, arguments)) {
    environment_.index.resize(program.nodes.size());
    environment_.tile.resize(program.nodes.size());
    loop_of_.resize(program.nodes.size(), kNone);
    for (const Node& node : program.nodes)
      if (node.op == OpCode::loop)
        loop_of_[static_cast<std::size_t>(program.block(node.body).arguments[0])] =
            static_cast<ValueId>(&node - program.nodes.data());
  }

  void run(BlockId block) {
    for (const ValueId id : program_.block(block).nodes) {
      const Node& node = program_.node(id);
      if (node.op == OpCode::loop) {
        loop(id, node);
      } else if (node.op == OpCode::assemble) {
        assemble(id, node);
      } else if (node.type.index) {
        environment_.index[static_cast<std::size_t>(id)] = index_value(id, node);
      } else {
        environment_.tile[static_cast<std::size_t>(id)] = tile_value(id, node);
      }
      if (watcher_) watcher_->computed(id, environment_);
    }
  }

 private:
  [[noreturn]] void fault(ValueId id, const std::string& what, const std::string& expected, const std::string& found,
                          const std::string& fix) const {
    fail({.what = what,
          .where = fmt::format("tile program {}, {}", program_.name, describe(program_, id)),
          .expected = expected,
          .found = found,
          .fix = fix});
  }

  std::int64_t index(ValueId id) const { return environment_.index[static_cast<std::size_t>(id)]; }
  const TileValue& tile(ValueId id) const { return environment_.tile[static_cast<std::size_t>(id)]; }
  const TileValue& operand(const Node& node, std::size_t i) const { return tile(node.operands[i]); }
  std::int64_t chosen(ValueId id, std::size_t parameter) const {
    if (program_.tiles[parameter].chosen <= 0)
      fault(id, fmt::format("tile parameter {} is not chosen", program_.tiles[parameter].name), "one of its choices",
            "none", "run choose_tiles, or set `chosen`");
    return program_.tiles[parameter].chosen;
  }
  std::int64_t size(ValueId id, const Extent& extent) const {
    return extent.fixed() ? extent.size : chosen(id, static_cast<std::size_t>(extent.parameter));
  }
  // The valid extent of an access or restriction along `axis`, 0 … extent; `otherwise` where none is given.
  std::int64_t valid(const Node& node, int axis, std::int64_t extent, std::int64_t otherwise) const {
    const ValueId given = valid_operand(node, axis);
    return given == kNone ? otherwise : std::clamp<std::int64_t>(index(given), 0, extent);
  }

  // Element (row, column) of an access: where it lies, in elements of the tensor's data. A fault outside the tensor.
  // `row_number` replaces the position along row_dim (gather).
  std::int64_t element(ValueId id, const Node& node, std::int64_t row, std::int64_t column,
                       const std::int64_t* row_number) const {
    const TensorArgument& tensor = arguments_.tensors[static_cast<std::size_t>(node.tensor)];
    std::int64_t at = 0;
    std::vector<std::int64_t>& position = position_;
    position.assign(tensor.shape.size(), 0);
    bool inside = true;
    for (std::size_t d = 0; d < position.size(); ++d) {
      const ValueId offset = node.operands[static_cast<std::size_t>(first_offset(node.op)) + d];
      position[d] = offset == kNone ? 0 : index(offset);
      if (static_cast<int>(d) == node.column_dim) position[d] += column;
      if (static_cast<int>(d) == node.row_dim) position[d] = row_number ? *row_number : position[d] + row;
      inside = inside && position[d] >= 0 && position[d] < tensor.shape[d];
      if (inside) at += position[d] * tensor.strides[d];
    }
    if (!inside)
      fault(id, fmt::format("an access lies outside tensor {}", program_.tensor(node.tensor).name),
            fmt::format("an index inside [{}]", fmt::join(tensor.shape, ", ")),
            fmt::format("[{}], element ({}, {}) of the tile", fmt::join(position, ", "), row, column),
            "give the access a valid extent: min(tile, what is left of the tensor)");
    return at;
  }
  std::byte* address(const Node& node, std::int64_t at) const {
    const DType dtype = program_.tensor(node.tensor).dtype;
    return static_cast<std::byte*>(arguments_.tensors[static_cast<std::size_t>(node.tensor)].data) +
           at * static_cast<std::int64_t>(dtype_size(dtype));
  }

  std::int64_t index_value(ValueId id, const Node& node) const {
    if (is_index_arithmetic(node.op))
      return index_arithmetic(node.op, index(node.operands[0]), index(node.operands[1]));
    switch (node.op) {
      case OpCode::index_constant:
        return node.integer2 > 0 ? chosen(id, static_cast<std::size_t>(node.integer2 - 1)) : node.integer;
      case OpCode::index_dim:
        return dims_[static_cast<std::size_t>(node.integer)];
      case OpCode::index_scalar:
        return static_cast<std::int64_t>(arguments_.scalars[static_cast<std::size_t>(node.integer)]);
      case OpCode::index_load: {
        const std::byte* data = address(node, element(id, node, 0, 0, nullptr));
        if (program_.tensor(node.tensor).dtype == DType::i64) return *reinterpret_cast<const std::int64_t*>(data);
        return *reinterpret_cast<const std::int32_t*>(data);
      }
      default:
        fault(id, "an operation gives no index", "an index operation", std::string(opcode_name(node.op)),
              "verify the program");
    }
  }

  TileValue read(ValueId id, const Node& node) const {
    const DType dtype = program_.tensor(node.tensor).dtype;
    if (program_.tensor(node.tensor).access == Access::write)
      fault(id, fmt::format("output {} is read", program_.tensor(node.tensor).name), "an input", "an output",
            "carry the tile through the loop instead");
    TileValue out(dtype, size(id, node.type.rows), size(id, node.type.columns));
    out.valid_rows = valid(node, 0, out.rows, out.rows);
    out.valid_columns = valid(node, 1, out.columns, out.columns);
    const bool gather = node.op == OpCode::gather;
    for (std::int64_t r = 0; r < out.valid_rows; ++r) {
      std::int64_t row = 0;
      bool missing = false;
      if (gather) {
        const TileValue& rows = operand(node, 0);
        if (!rows.defined[rows.at(r, 0)]) continue;
        row = static_cast<std::int64_t>(rows.values[rows.at(r, 0)]);
        const auto& shape = arguments_.tensors[static_cast<std::size_t>(node.tensor)].shape;
        missing = row < 0 || row >= shape[static_cast<std::size_t>(node.row_dim)];
      }
      for (std::int64_t c = 0; c < out.valid_columns; ++c) {
        if (missing) {
          out.set(r, c, 0);
          continue;
        }
        const std::int64_t at = element(id, node, r, c, gather ? &row : nullptr);
        out.set(r, c, load_element(dtype, address(node, at)));
        if (watcher_) watcher_->moved(id, out.at(r, c), at);
      }
    }
    return out;
  }

  void assemble(ValueId id, const Node& node) {
    const TensorParameter& parameter = program_.tensor(node.tensor);
    if (parameter.access == Access::read)
      fault(id, fmt::format("input {} is written", parameter.name), "an output", "an input", "declare it as output");
    const TileValue& from = operand(node, 0);
    const std::int64_t rows = std::min(from.valid_rows, valid(node, 0, from.rows, from.rows));
    const std::int64_t columns = std::min(from.valid_columns, valid(node, 1, from.columns, from.columns));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t at = element(id, node, r, c, nullptr);
        if (!from.defined[from.at(r, c)])
          fault(id, fmt::format("an element without a value is written to {}", parameter.name),
                "elements inside the valid extents of all operands", fmt::format("element ({}, {})", r, c),
                "restrict the tile, or give the assemble a valid extent");
        if (!writes_.note(node.tensor, at))
          fault(id, fmt::format("two iterations of a parallel loop write one element of {}", parameter.name),
                "each element written by one iteration", fmt::format("[{}]", fmt::join(position_, ", ")),
                "make the loop sequential, or offset the writes by its variable");
        store_element(parameter.dtype, address(node, at), from.values[from.at(r, c)]);
        if (watcher_) watcher_->moved(id, from.at(r, c), at);
      }
  }

  void loop(ValueId id, const Node& node) {
    const std::int64_t start = index(node.operands[kLoopStart]), stop = index(node.operands[kLoopStop]);
    const std::int64_t step = index(node.operands[kLoopStep]);
    if (step <= 0) fault(id, "a loop does not advance", "a step of at least 1", std::to_string(step), "use max(1, …)");
    const Block& body = program_.block(node.body);
    const std::span<const ValueId> arguments(body.arguments.begin() + 1, body.arguments.end());
    carry(arguments, std::span<const ValueId>(node.operands).subspan(kLoopInitial));
    const std::int64_t instance = node.parallel ? writes_.enter_loop() : 0;
    for (std::int64_t i = start; i < stop; i += step) {
      environment_.index[static_cast<std::size_t>(body.arguments[0])] = i;
      if (node.parallel) writes_.enter_iteration(instance);
      run(node.body);
      if (node.parallel) writes_.leave_iteration();
      carry(arguments, body.yields);
      if (i > std::numeric_limits<std::int64_t>::max() - step) break;
    }
  }
  // All at once: a yield may be another argument.
  void carry(std::span<const ValueId> arguments, std::span<const ValueId> sources) {
    std::vector<TileValue> values;
    for (const ValueId source : sources) values.push_back(tile(source));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].valid_rows = values[i].rows;
      values[i].valid_columns = values[i].columns;
      environment_.tile[static_cast<std::size_t>(arguments[i])] = std::move(values[i]);
    }
    if (watcher_) watcher_->carried(arguments, sources, environment_);
  }

  TileValue one(DType dtype, double value) const {
    TileValue out(dtype, 1, 1);
    out.set(0, 0, value);
    return out;
  }
  TileValue edge_of_loop(ValueId id, const Node& node) const {
    const ValueId loop = loop_of_[static_cast<std::size_t>(node.operands[0])];
    if (loop == kNone)
      fault(id, "the operand is not a loop's variable", "the variable of an enclosing loop",
            describe(program_, node.operands[0]), "pass the loop's variable itself");
    const std::vector<ValueId>& bounds = program_.node(loop).operands;
    const std::int64_t i = index(node.operands[0]);
    const bool first = i == index(bounds[kLoopStart]);
    const bool last = i >= index(bounds[kLoopStop]) - index(bounds[kLoopStep]);
    return one(DType::b8, node.op == OpCode::is_first ? first : last);
  }

  TileValue tile_value(ValueId id, const Node& node) const {
    const std::int64_t rows = size(id, node.type.rows), columns = size(id, node.type.columns);
    if (node.op == OpCode::cast) return cast_tile(operand(node, 0), node.type.dtype);
    if (is_unary(node.op)) return unary_tile(node.op, operand(node, 0));
    if (is_binary(node.op)) return binary_tile(node.op, operand(node, 0), operand(node, 1));
    if (is_reduction(node.op)) return reduce_tile(node.op, operand(node, 0), node.axis);
    switch (node.op) {
      case OpCode::constant: {
        TileValue out(node.type.dtype, rows, columns);
        std::fill(out.values.begin(), out.values.end(), round_to(node.type.dtype, node.number));
        std::fill(out.defined.begin(), out.defined.end(), std::uint8_t{1});
        return out;
      }
      case OpCode::scalar:
        return one(DType::f32, round_to(DType::f32, arguments_.scalars[static_cast<std::size_t>(node.integer)]));
      case OpCode::from_index:
      case OpCode::iota: {
        TileValue out(DType::i32, rows, columns);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c) {
            const auto value = static_cast<double>(index_arithmetic(OpCode::index_add, index(node.operands[0]),
                                                                    node.op == OpCode::from_index ? 0
                                                                    : node.axis == 0              ? r
                                                                                                  : c));
            if (fits_i32(value)) out.set(r, c, value);
          }
        return out;
      }
      case OpCode::view:
      case OpCode::gather:
        return read(id, node);
      case OpCode::where:
        return where_tile(operand(node, 0), operand(node, 1), operand(node, 2));
      case OpCode::broadcast:
        return broadcast_tile(operand(node, 0), rows, columns);
      case OpCode::slice:
        return slice_tile(operand(node, 0), node.integer, node.integer2, rows, columns);
      case OpCode::concat: {
        std::vector<const TileValue*> parts;
        for (const ValueId part : node.operands) parts.push_back(&tile(part));
        return concat_tiles(parts, node.axis);
      }
      case OpCode::transpose:
        return transpose_tile(operand(node, 0));
      case OpCode::reshape:
        return reshape_tile(operand(node, 0), rows, columns);
      case OpCode::restrict: {
        TileValue out = operand(node, 0);
        out.valid_rows = valid(node, 0, out.rows, out.valid_rows);
        out.valid_columns = valid(node, 1, out.columns, out.valid_columns);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c)
            if (r >= out.valid_rows || c >= out.valid_columns) out.defined[out.at(r, c)] = 0;
        return out;
      }
      case OpCode::matmul: {
        const bool accumulates = node.operands.size() > 2 && node.operands[2] != kNone;
        return matmul_tile(operand(node, 0), operand(node, 1), accumulates ? &operand(node, 2) : nullptr,
                           node.transposed);
      }
      case OpCode::top_k:  // its results are taken by `result`
        return operand(node, 0);
      case OpCode::result: {
        const Node& from = program_.node(node.operands[0]);
        if (from.op == OpCode::top_k) return top_k_tile(operand(from, 0), from.integer, node.integer == 1);
        return tile(program_.block(from.body).arguments[static_cast<std::size_t>(1 + node.integer)]);
      }
      case OpCode::is_first:
      case OpCode::is_last:
        return edge_of_loop(id, node);
      default:
        fault(id, "an operation gives no tile", "a tile operation", std::string(opcode_name(node.op)),
              "verify the program");
    }
  }

  const Program& program_;
  const Arguments& arguments_;
  Watcher* watcher_;
  std::vector<std::int64_t> dims_;
  Environment environment_;
  std::vector<ValueId> loop_of_;  // of a loop's variable
  WriteLog writes_;
  mutable std::vector<std::int64_t> position_;  // of the element that was addressed last
};

}  // namespace

void interpret(const Program& program, const Arguments& arguments, Watcher* watcher) {
  Execution(program, arguments, watcher).run(0);
}

}  // namespace tilewright::tile

// check_parameters and check_structure.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "tile/ir/type_rule.h"
#include "tile/verify/checks.h"

namespace tilewright::tile {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 26;  // of a tile

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

bool is_tile_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::i32 ||
         dtype == DType::b8;
}

struct Arity {
  std::size_t least, most;
};

class Structure {
 public:
  explicit Structure(const Program& program)
      : program_(program), placed_(program.nodes.size(), false), defined_(program.nodes.size(), false) {}

  void run() {
    if (program_.blocks.empty()) refuse(program_, kNone, "a tile program has no body", "a block 0", "none", "add one");
    used_.insert(0);
    block(0, 0);
  }

 private:
  [[noreturn]] void bad(ValueId id, std::string what, std::string expected, std::string found, std::string fix) const {
    refuse(program_, id, std::move(what), std::move(expected), std::move(found), std::move(fix));
  }
  const Node& node(ValueId id) const { return program_.node(id); }
  std::string number(std::int64_t value) const { return std::to_string(value); }

  // Nodes of the block, then nothing that it defined is left in scope.
  void block(BlockId id, int depth) {
    if (depth > 32) bad(kNone, "loops stand too deep in each other", "at most 32", "more", "use fewer loops");
    std::vector<ValueId> mine = program_.block(id).arguments;
    for (const ValueId argument : mine) define(argument);
    for (const ValueId value : program_.block(id).nodes) {
      if (value < 0 || value >= static_cast<ValueId>(program_.nodes.size()))
        bad(kNone, "a block holds a node that does not exist", "nodes of the program", number(value),
            "append it first");
      place(value);
      check(value, depth);
      define(value);
      mine.push_back(value);
    }
    for (const ValueId value : program_.block(id).yields) usable(kNone, value, "a yielded value");
    for (const ValueId value : mine) defined_[static_cast<std::size_t>(value)] = false;
  }
  void define(ValueId id) { defined_[static_cast<std::size_t>(id)] = true; }
  void place(ValueId id) {
    if (placed_[static_cast<std::size_t>(id)])
      bad(id, "a node stands in two places", "one", "two", "make a copy of the node");
    placed_[static_cast<std::size_t>(id)] = true;
  }

  void usable(ValueId user, ValueId value, const std::string& what) const {
    if (value < 0 || value >= static_cast<ValueId>(program_.nodes.size()))
      bad(user, fmt::format("{} does not exist", what), "a value of the program", number(value), "pass one");
    if (!defined_[static_cast<std::size_t>(value)])
      bad(user, fmt::format("{} is not defined where it is used", what),
          "a value defined before, in the same block or in one around it",
          fmt::format("the {}", opcode_name(node(value).op)),
          "move its definition up; what a loop computes leaves it as a carried tile");
    if (has_no_result(node(value).op))
      bad(user, fmt::format("{} has no value", what), "a tile or an index", "an assemble", "use the assembled tile");
  }

  void check(ValueId id, int depth) {
    const Node& n = node(id);
    if (n.op == OpCode::loop_variable || n.op == OpCode::carried)
      bad(id, "an argument of a loop's body stands among its nodes", "it in Block::arguments only", "a node",
          "use the builder's loop");
    attributes(id, n);
    operands(id, n);
    if (n.op == OpCode::loop) loop(id, n, depth);
    typed(id, n);
  }

  void operands(ValueId id, const Node& n) const {
    const Arity arity = arity_of(n);
    if (n.operands.size() < arity.least || n.operands.size() > arity.most)
      bad(id, "an operation has another number of operands than it takes",
          arity.least == arity.most ? number(static_cast<std::int64_t>(arity.least))
                                    : fmt::format("{} to {}", arity.least, arity.most),
          number(static_cast<std::int64_t>(n.operands.size())), "pass them all, absent ones as kNone");
    const std::size_t count = n.operands.size();
    const bool block_access = accesses_tensor(n.op) && n.op != OpCode::index_load;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId value = n.operands[i];
      const bool valid = (block_access || n.op == OpCode::restrict) && i + 2 >= count;
      const bool gathered = n.op == OpCode::gather && static_cast<int>(i) == 1 + n.row_dim;
      if (value == kNone && (valid || gathered || (n.op == OpCode::matmul && i == 2))) continue;
      usable(id, value, fmt::format("operand {}", i));
      const OpCode from = node(value).op;
      const bool many = from == OpCode::loop || from == OpCode::top_k;
      if (many != (n.op == OpCode::result))
        bad(id, many ? "a loop or top_k is used as if it had one value" : "a result is taken of one value",
            many ? "one of its results" : "a loop or top_k", std::string(opcode_name(from)), "use `result`");
      if ((n.op == OpCode::is_first || n.op == OpCode::is_last) && from != OpCode::loop_variable)
        bad(id, "the operand is not a loop's variable", "the variable of a loop around", std::string(opcode_name(from)),
            "pass the loop's variable itself");
      const bool offset = accesses_tensor(n.op) && static_cast<int>(i) >= first_offset(n.op);
      if ((valid || offset) && !node(value).type.index)
        bad(id, "an offset or valid extent is not an index", "index", type_text(program_, node(value).type),
            "pass an index value");
    }
  }

  Arity arity_of(const Node& n) const {
    if (is_index_arithmetic(n.op) || is_binary(n.op)) return {2, 2};
    if (is_unary(n.op) || is_reduction(n.op)) return {1, 1};
    switch (n.op) {
      case OpCode::index_constant:
      case OpCode::index_dim:
      case OpCode::index_scalar:
      case OpCode::constant:
      case OpCode::scalar:
        return {0, 0};
      case OpCode::index_load:
      case OpCode::view:
      case OpCode::gather:
      case OpCode::assemble: {
        const std::size_t count = program_.tensor(n.tensor).shape.size() +
                                  static_cast<std::size_t>(first_offset(n.op)) + (n.op == OpCode::index_load ? 0 : 2);
        return {count, count};
      }
      case OpCode::where:
      case OpCode::restrict:
        return {3, 3};
      case OpCode::concat:
        return {1, 256};
      case OpCode::matmul:
        return {2, 3};
      case OpCode::loop:
        return {3, 256};
      default:
        return {1, 1};
    }
  }

  void attributes(ValueId id, const Node& n) const {
    const auto inside = [&](std::int64_t value, std::size_t count, const char* what) {
      if (value < 0 || value >= static_cast<std::int64_t>(count))
        bad(id, fmt::format("an operation names a {} that does not exist", what), fmt::format("0 … {}", count),
            number(value), "declare it");
    };
    if (n.op == OpCode::index_dim) inside(n.integer, program_.dims.size(), "dim");
    if (n.op == OpCode::index_constant) inside(n.integer2, program_.tiles.size() + 1, "tile parameter");
    if (n.op == OpCode::index_scalar || n.op == OpCode::scalar) {
      inside(n.integer, program_.scalars.size(), "scalar");
      const DType found = program_.scalars[static_cast<std::size_t>(n.integer)].dtype;
      if (found != (n.op == OpCode::scalar ? DType::f32 : DType::i64))
        bad(id, "a scalar of another dtype is asked for", "f32 for scalar, i64 for index.scalar",
            std::string(dtype_name(found)), "declare the scalar with that dtype");
    }
    if (n.axis != 0 && n.axis != 1)
      bad(id, "an axis that a tile does not have", "0 (over rows) or 1 (over columns)", number(n.axis), "use 0 or 1");
    for (const Extent& extent : {n.type.rows, n.type.columns}) {
      if (!extent.fixed()) inside(extent.parameter, program_.tiles.size(), "tile parameter");
      if (extent.fixed() && (extent.size < 1 || extent.size > (std::int64_t{1} << 24)))
        bad(id, "a tile's extent is out of range", "1 … 16777216", number(extent.size),
            "use a smaller tile and a loop");
    }
    if (largest(n.type.rows) * largest(n.type.columns) > kMostElements)
      bad(id, "a tile has too many elements", number(kMostElements), type_text(program_, n.type),
          "use a smaller tile and a loop");
    if (!n.type.index && !is_tile_dtype(n.type.dtype) && n.op != OpCode::loop)
      bad(id, "a tile has a dtype that tiles cannot have", "f32, f16, bf16, i32 or bool",
          std::string(dtype_name(n.type.dtype)), "view an input of another dtype; one element of i64: load");
    if (n.op == OpCode::result) inside(n.integer, 256, "result");
    if (accesses_tensor(n.op)) access(id, n);
  }

  std::int64_t largest(const Extent& extent) const {
    return extent.fixed() ? extent.size : program_.tiles[static_cast<std::size_t>(extent.parameter)].choices.back();
  }

  void access(ValueId id, const Node& n) const {
    if (n.tensor < 0 || n.tensor >= static_cast<int>(program_.tensors.size()))
      bad(id, "an operation names a tensor that does not exist", "one of the program's tensors", number(n.tensor),
          "declare it as input or output");
    const TensorParameter& tensor = program_.tensor(n.tensor);
    if (n.op == OpCode::index_load) {
      if (tensor.dtype != DType::i32 && tensor.dtype != DType::i64)
        bad(id, fmt::format("an index is loaded from {}, which holds no integers", tensor.name), "i32 or i64",
            std::string(dtype_name(tensor.dtype)), "pass lengths and positions as an i32 tensor");
      return;
    }
    const int rank = static_cast<int>(tensor.shape.size());
    const bool rows = n.row_dim >= 0 && n.row_dim < rank;
    if (n.column_dim < 0 || n.column_dim >= rank || n.row_dim == n.column_dim || (!rows && n.row_dim != kNone) ||
        (!rows && n.op == OpCode::gather))
      bad(id, fmt::format("an access runs along dims that {} does not have", tensor.name),
          fmt::format("two different dims of 0 … {}", rank - 1),
          fmt::format("rows along {}, columns along {}", n.row_dim, n.column_dim),
          "a single row may have no row dim; a gather needs one");
    const Type& type = n.op == OpCode::assemble && !n.operands.empty() && n.operands[0] >= 0 &&
                               n.operands[0] < static_cast<ValueId>(program_.nodes.size())
                           ? node(n.operands[0]).type
                           : n.type;
    if (!rows && !type.rows.one())
      bad(id, "a tile of several rows has no dim to run along", "one row", type_text(program_, type),
          fmt::format("give {} another dim, or reshape the tile to one row", tensor.name));
    if (n.op == OpCode::assemble && type.dtype != tensor.dtype)
      bad(id, fmt::format("a tile of another dtype than {} is written to it", tensor.name),
          std::string(dtype_name(tensor.dtype)), type_text(program_, type),
          fmt::format("write cast(x, {}) first: no cast is added by itself", dtype_name(tensor.dtype)));
  }

  void typed(ValueId id, const Node& n) const {
    Type wanted;
    try {
      wanted = type_rule(program_, n);
    } catch (const Error& error) {
      const ErrorText& text = error.text();
      bad(id, text.what, text.expected, text.found, text.fix);
    }
    if (wanted != n.type)
      bad(id, "a node has another type than its operands give it", type_text(program_, wanted),
          type_text(program_, n.type), "set the type by type_rule when operands change");
  }

  void loop(ValueId id, const Node& n, int depth) {
    if (n.body < 0 || n.body >= static_cast<BlockId>(program_.blocks.size()) || !used_.insert(n.body).second)
      bad(id, "a loop has no body of its own", "one block that no other loop has", number(n.body), "make one");
    const Block& body = program_.block(n.body);
    if (!is_identifier(body.variable))
      bad(id, "a loop variable has no usable name", "letters, digits, _ and .", fmt::format("'{}'", body.variable),
          "name it as in parallel(\"row\", …)");
    const std::size_t carried = n.operands.size() - kLoopInitial;
    if (body.arguments.size() != 1 + carried || body.yields.size() != carried)
      bad(id, "a loop's body gives another number of tiles than the loop carries",
          number(static_cast<std::int64_t>(carried)),
          fmt::format("{} arguments, {} yields", body.arguments.size(), body.yields.size()),
          "return one tile for each carried one");
    for (std::size_t i = 0; i < 3; ++i)
      if (!node(n.operands[i]).type.index)
        bad(id, "a loop's bound is not an index", "index", type_text(program_, node(n.operands[i]).type),
            "read it with load");
    for (std::size_t i = 0; i < body.arguments.size(); ++i) {
      const ValueId argument = body.arguments[i];
      if (argument < 0 || argument >= static_cast<ValueId>(program_.nodes.size()) ||
          node(argument).op != (i == 0 ? OpCode::loop_variable : OpCode::carried))
        bad(id, "a loop's body has wrong arguments", "its variable, then the carried tiles", number(argument),
            "use the builder's loop");
      place(argument);
      const Type wanted = i == 0 ? Type{.index = true} : node(n.operands[kLoopInitial + i - 1]).type;
      if (node(argument).type != wanted || (i > 0 && wanted.index))
        bad(id, "a carried tile has another type than its first value", type_text(program_, wanted),
            type_text(program_, node(argument).type), "start from a tile of the type that is carried");
    }
    block(n.body, depth + 1);
    for (std::size_t i = 0; i < carried; ++i)
      if (node(body.yields[i]).type != node(body.arguments[1 + i]).type)
        bad(id, "a loop's body yields another type than the loop carries",
            type_text(program_, node(body.arguments[1 + i]).type), type_text(program_, node(body.yields[i]).type),
            "cast or broadcast the yielded tile");
  }

  const Program& program_;
  std::vector<bool> placed_, defined_;
  std::set<BlockId> used_;
};

}  // namespace

void check_parameters(const Program& program) {
  std::set<std::string> names;
  const auto name = [&](const std::string& text, bool unique) {
    if (!is_identifier(text))
      refuse(program, kNone, "a name cannot be used in a tile program", "letters, digits, _ and ., a letter first",
             fmt::format("'{}'", text), "choose another name");
    if (unique && !names.insert(text).second)
      refuse(program, kNone, "a name is used twice", "one name for one dim, tensor, scalar or tile parameter", text,
             "choose another name");
  };
  name(program.name, false);
  for (const std::string& dim : program.dims) name(dim, true);
  std::vector<bool> bound(program.dims.size(), false);
  for (const TensorParameter& tensor : program.tensors) {
    name(tensor.name, true);
    for (const TensorDim& dim : tensor.shape) {
      if (dim.symbol == kNone ? dim.size < 0 : dim.symbol < 0 || dim.symbol >= static_cast<int>(program.dims.size()))
        refuse(program, kNone, fmt::format("tensor {} has a dim that is neither a number nor declared", tensor.name),
               "a size of at least 0 or a symbolic dim", std::to_string(dim.symbol == kNone ? dim.size : dim.symbol),
               "declare the dim");
      if (dim.symbol != kNone) bound[static_cast<std::size_t>(dim.symbol)] = true;
    }
  }
  for (std::size_t i = 0; i < bound.size(); ++i)
    if (!bound[i])
      refuse(program, kNone, fmt::format("dim {} has no value", program.dims[i]), "a tensor that has this dim", "none",
             "use index_scalar for a number that no tensor's shape gives");
  for (const ScalarParameter& scalar : program.scalars) {
    name(scalar.name, true);
    if (scalar.dtype != DType::f32 && scalar.dtype != DType::i64)
      refuse(program, kNone, fmt::format("scalar {} has a dtype that is not served", scalar.name), "f32 or i64",
             std::string(dtype_name(scalar.dtype)), "pass it as f32 or i64");
  }
  for (const TileParameter& tile : program.tiles) {
    name(tile.name, true);
    const bool ascending =
        std::adjacent_find(tile.choices.begin(), tile.choices.end(), std::greater_equal<>()) == tile.choices.end();
    if (tile.choices.empty() || !ascending || tile.choices[0] < 1 || tile.choices.back() > (std::int64_t{1} << 24))
      refuse(program, kNone, fmt::format("tile parameter {} has no usable choices", tile.name),
             "sizes of 1 … 16777216, ascending", fmt::format("{} of them", tile.choices.size()),
             "list some: {64, 128}");
  }
}

void check_structure(const Program& program) { Structure(program).run(); }

}  // namespace tilewright::tile

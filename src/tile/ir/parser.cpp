#include "tile/ir/parser.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "tile/ir/lexer.h"
#include "tile/ir/type_rule.h"

namespace tilewright::tile {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : lex_(text, source) {}

  Program program() {
    lex_.expect("program");
    out_.name = lex_.word("the program's name");
    while (!lex_.at("{")) declaration();
    out_.blocks.emplace_back();
    body(0, 0);
    if (lex_.peek().kind != Token::Kind::end) lex_.unexpected("the end of the text");
    return std::move(out_);
  }

 private:
  // ---- header
  void declaration() {
    const Token at = lex_.peek();
    const std::string_view kind = lex_.word("dim, input, output, scalar, tile or '{'");
    const Token name_at = lex_.peek();
    std::string name(lex_.word("a name"));
    if (!names_.emplace(name, 0).second)
      lex_.refuse(name_at, "a name is used twice", "one name for one dim, tensor, scalar or tile parameter", name);
    if (kind == "dim") {
      out_.dims.push_back(std::move(name));
    } else if (kind == "input" || kind == "output") {
      tensor(std::move(name), kind == "input" ? Access::read : Access::write);
    } else if (kind == "scalar") {
      lex_.expect(":");
      const Token dtype_at = lex_.peek();
      const DType type = dtype();
      if (type != DType::f32 && type != DType::i64)
        lex_.refuse(dtype_at, "a scalar has a dtype that is not served", "f32 or i64", std::string(dtype_name(type)));
      out_.scalars.push_back({std::move(name), type});
    } else if (kind == "tile") {
      tile(std::move(name));
    } else {
      lex_.refuse(at, "a tile program's text cannot be read", "dim, input, output, scalar, tile or '{'",
                  std::string(kind));
    }
    for (const std::size_t count : {out_.dims.size(), out_.tensors.size(), out_.scalars.size(), out_.tiles.size()})
      if (count > TextLimits::names)
        lex_.refuse(name_at, "a tile program has too many parameters",
                    fmt::format("at most {} of a kind", TextLimits::names), "more");
  }
  DType dtype() {
    static constexpr DType all[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3,
                                    DType::i64, DType::i32, DType::u8,   DType::b8};
    for (const DType one : all)
      if (lex_.accept(dtype_name(one))) return one;
    lex_.unexpected("a dtype: f32, f16, bf16, i32, bool …");
  }
  void tensor(std::string name, Access access) {
    TensorParameter parameter{std::move(name), DType::f32, {}, access};
    lex_.expect(":");
    parameter.dtype = dtype();
    lex_.expect("[");
    while (!lex_.accept("]")) {
      if (!parameter.shape.empty()) lex_.expect(",");
      if (parameter.shape.size() >= TextLimits::rank) lex_.unexpected(fmt::format("at most {} dims", TextLimits::rank));
      if (lex_.peek().kind == Token::Kind::word)
        parameter.shape.push_back({-1, static_cast<int>(named(out_.dims, "a dim"))});
      else
        parameter.shape.push_back({lex_.integer("an extent", 0, kMost), kNone});
    }
    out_.tensors.push_back(std::move(parameter));
  }
  void tile(std::string name) {
    TileParameter parameter{std::move(name), {}, 0};
    lex_.expect("=");
    do {
      if (parameter.choices.size() >= TextLimits::names) lex_.unexpected("fewer choices");
      parameter.choices.push_back(lex_.integer("a tile size", 1, TextLimits::extent));
    } while (lex_.accept("|"));
    if (lex_.accept("chosen")) parameter.chosen = lex_.integer("a tile size", 1, TextLimits::extent);
    out_.tiles.push_back(std::move(parameter));
  }

  // The number of a name in a list of parameters.
  template <typename List>
  std::int64_t named(const List& list, std::string_view what) {
    const Token at = lex_.peek();
    const std::string_view name = lex_.word(what);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if constexpr (std::is_same_v<typename List::value_type, std::string>) {
        if (list[i] == name) return static_cast<std::int64_t>(i);
      } else if (list[i].name == name) {
        return static_cast<std::int64_t>(i);
      }
    }
    lex_.refuse(at, "a name is not declared", std::string(what), std::string(name.substr(0, 40)),
                "declare it before '{'");
  }

  // ---- types and values
  Extent extent() {
    if (lex_.peek().kind == Token::Kind::word) return {0, static_cast<int>(named(out_.tiles, "a tile parameter"))};
    return {lex_.integer("a tile's extent", 1, TextLimits::extent), kNone};
  }
  Type type() {
    lex_.expect(":");
    if (lex_.accept("index")) return {.index = true};
    Type type;
    type.dtype = dtype();
    lex_.expect("[");
    type.rows = extent();
    lex_.expect(",");
    type.columns = extent();
    lex_.expect("]");
    return type;
  }
  ValueId value() {
    [[maybe_unused]] const Token at = lex_.peek();
    const auto found = values_.find(lex_.value());
#ifndef TILEWRIGHT_PLANTED_FAULT  // fuzz/tile_text.cmake shows that the fuzz target notices when this check is gone
    if (found == values_.end())
      lex_.refuse(at, "a value is used that is not defined here", "a value defined before, in this block or around it",
                  fmt::format("%{}", at.text.substr(0, 40)),
                  "define it first; what a loop computes leaves it as a result");
#endif
    return found->second;
  }
  ValueId optional_value() { return lex_.accept_none() ? kNone : value(); }
  void define(const Token& at, ValueId id) {
    if (!values_.emplace(at.text, id).second)
      lex_.refuse(at, "a value is defined twice", "a new number", fmt::format("%{}", at.text.substr(0, 40)));
    scope_.push_back(at.text);
  }
  Token new_value() {
    const Token at = lex_.peek();
    lex_.value();
    return at;
  }
  ValueId append(const Token& at, Node node) {
    if (out_.nodes.size() >= TextLimits::nodes)
      lex_.refuse(at, "a tile program is too long", fmt::format("at most {} nodes", TextLimits::nodes), "more");
    out_.nodes.push_back(std::move(node));
    return static_cast<ValueId>(out_.nodes.size()) - 1;
  }

  // ---- nodes
  void body(BlockId block, std::size_t depth) {
    if (depth > TextLimits::depth) lex_.unexpected(fmt::format("at most {} loops in each other", TextLimits::depth));
    lex_.expect("{");
    const std::size_t outside = scope_.size() - out_.block(block).arguments.size();
    while (!lex_.at("}") && !lex_.at("yield")) {
      const Token at = new_value();
      lex_.expect("=");
      const bool parallel = lex_.at("parallel");
      ValueId id = kNone;
      if (parallel || lex_.at("loop"))
        id = loop(at, block, depth, parallel);
      else
        out_.block(block).nodes.push_back(id = plain(at));
      if (!has_no_result(out_.node(id).op)) define(at, id);
    }
    const Token at = lex_.peek();
    if (lex_.accept("yield")) out_.block(block).yields = values();
    const std::size_t carried = out_.block(block).arguments.empty() ? 0 : out_.block(block).arguments.size() - 1;
    if (out_.block(block).yields.size() != carried)
      lex_.refuse(at, "a body yields another number of tiles than its loop carries", std::to_string(carried),
                  std::to_string(out_.block(block).yields.size()));
    lex_.expect("}");
    for (; scope_.size() > outside; scope_.pop_back()) values_.erase(scope_.back());
  }

  ValueId loop(const Token& at, BlockId around, std::size_t depth, bool parallel) {
    lex_.next();
    Node node{.op = OpCode::loop, .type = {.index = true}, .parallel = parallel};
    const std::string variable(lex_.word("the loop variable's name"));
    const Token variable_at = new_value();
    lex_.expect("=");
    node.operands.push_back(value());
    lex_.expect("to");
    node.operands.push_back(value());
    lex_.expect("step");
    node.operands.push_back(value());
    std::vector<std::pair<Token, Type>> carried;
    if (lex_.accept("carry")) {
      do {
        if (carried.size() >= TextLimits::operands) lex_.unexpected("fewer carried tiles");
        const Token carried_at = new_value();
        lex_.expect("=");
        node.operands.push_back(value());
        carried.emplace_back(carried_at, type());
        if (carried.back().second != out_.node(node.operands.back()).type || carried.back().second.index)
          lex_.refuse(carried_at, "a carried tile has another type than its first value",
                      type_text(out_, out_.node(node.operands.back()).type), type_text(out_, carried.back().second));
      } while (lex_.accept(","));
    }
    for (std::size_t i = 0; i < 3; ++i)
      if (!out_.node(node.operands[i]).type.index)
        lex_.refuse(at, "a loop's bounds are index values", "index", type_text(out_, out_.node(node.operands[i]).type));
    node.plan = plan();
    node.body = static_cast<BlockId>(out_.blocks.size());
    const BlockId inner = node.body;
    out_.blocks.emplace_back().variable = variable;
    const ValueId id = append(at, std::move(node));
    out_.block(around).nodes.push_back(id);
    const auto argument = [&](const Token& where, OpCode op, const Type& type) {
      const ValueId value = append(where, {.op = op, .type = type});
      out_.block(inner).arguments.push_back(value);
      define(where, value);
    };
    argument(variable_at, OpCode::loop_variable, {.index = true});
    for (const auto& [where, type] : carried) argument(where, OpCode::carried, type);
    body(inner, depth + 1);
    const Block& block = out_.block(inner);
    for (std::size_t i = 0; i < block.yields.size(); ++i)
      if (out_.node(block.yields[i]).type != out_.node(block.arguments[i + 1]).type)
        lex_.refuse(at, "a loop's body yields another type than the loop carries",
                    type_text(out_, out_.node(block.arguments[i + 1]).type),
                    type_text(out_, out_.node(block.yields[i]).type), "cast or broadcast the yielded tile");
    return id;
  }

  std::vector<ValueId> values() {
    std::vector<ValueId> list;
    if (lex_.peek().kind != Token::Kind::value && lex_.peek().kind != Token::Kind::none) return list;
    do {
      if (list.size() >= TextLimits::operands)
        lex_.unexpected(fmt::format("at most {} operands", TextLimits::operands));
      list.push_back(optional_value());
    } while (lex_.accept(","));
    return list;
  }

  ValueId plain(const Token& at) {
    const Token op_at = lex_.peek();
    const auto op = opcode_from_name(lex_.word("an operation"));
    if (!op || *op == OpCode::loop || *op == OpCode::loop_variable || *op == OpCode::carried)
      lex_.refuse(op_at, "there is no such operation", "one of docs/tile-language.md",
                  std::string(op_at.text.substr(0, 40)));
    Node node{.op = *op};
    attributes(node, op_at);
    const Token type_at = lex_.peek();
    node.type = type();
    typed(node, type_at);
    node.plan = plan();
    return append(at, std::move(node));
  }

  void typed(const Node& node, const Token& at) {
    // What type_rule takes from the node must be the tile that it is asked to be.
    Type wanted;
    try {
      wanted = type_rule(out_, node);
    } catch (const Error& error) {
      ErrorText text = error.text();
      text.where = lex_.place(at);
      fail(text);
    }
    if (wanted != node.type)
      lex_.refuse(at, fmt::format("{} has another type than its operands give it", opcode_name(node.op)),
                  type_text(out_, wanted), type_text(out_, node.type));
  }

  void axis(Node& node) {
    if (lex_.accept("axis")) {
      node.axis = static_cast<int>(lex_.integer("an axis", 0, 1));
    } else {
      lex_.unexpected("'axis'");
    }
  }
  void operands(Node& node, const Token& at, std::size_t least, std::size_t most) {
    node.operands = values();
    if (node.operands.size() < least || node.operands.size() > most)
      lex_.refuse(at, fmt::format("{} has another number of operands", opcode_name(node.op)),
                  least == most ? std::to_string(least) : fmt::format("{} to {}", least, most),
                  std::to_string(node.operands.size()));
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i] == kNone && !(node.op == OpCode::matmul && i == 2))
        lex_.refuse(at, fmt::format("{} lacks an operand", opcode_name(node.op)), "a value", "-");
  }
  void valid(Node& node) {
    ValueId rows = kNone, columns = kNone;
    if (lex_.accept("valid")) {
      const Token at = lex_.peek();
      rows = optional_value();
      lex_.expect(",");
      columns = optional_value();
      for (const ValueId one : {rows, columns})
        if (one != kNone && !out_.node(one).type.index)
          lex_.refuse(at, "a valid extent is an index value", "index", type_text(out_, out_.node(one).type));
    }
    node.operands.push_back(rows);
    node.operands.push_back(columns);
  }

  void access(Node& node, const Token& at) {
    node.tensor = static_cast<int>(named(out_.tensors, "a tensor"));
    const std::size_t rank = out_.tensor(node.tensor).shape.size();
    lex_.expect("[");
    std::vector<ValueId> offsets = values();
    lex_.expect("]");
    if (offsets.size() != rank)
      lex_.refuse(at, fmt::format("{} has another number of offsets than the tensor has dims", opcode_name(node.op)),
                  std::to_string(rank), std::to_string(offsets.size()));
    for (const ValueId offset : offsets)
      if (offset != kNone && !out_.node(offset).type.index)
        lex_.refuse(at, "an offset is an index value", "index", type_text(out_, out_.node(offset).type));
    if (node.op == OpCode::assemble || node.op == OpCode::gather) {
      lex_.expect(node.op == OpCode::assemble ? "from" : "by");
      node.operands.push_back(value());
    }
    node.operands.insert(node.operands.end(), offsets.begin(), offsets.end());
    if (node.op != OpCode::index_load) {
      const auto dim = [&] {
        if (lex_.accept_none()) return kNone;
        return static_cast<int>(lex_.integer("a dim of the tensor", 0, static_cast<std::int64_t>(rank) - 1));
      };
      lex_.expect("rows");
      node.row_dim = dim();
      lex_.expect("columns");
      node.column_dim = dim();
      if (node.column_dim == kNone || node.row_dim == node.column_dim ||
          (node.op == OpCode::gather && node.row_dim == kNone))
        lex_.refuse(at, fmt::format("{} runs along dims that do not fit", opcode_name(node.op)),
                    "columns along one dim, rows along another", "rows and columns not apart");
      valid(node);
    }
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] == kNone && !(node.op == OpCode::gather && static_cast<int>(i) == node.row_dim))
        lex_.refuse(at, fmt::format("{} lacks an offset", opcode_name(node.op)), "a value", "-");
  }

  void attributes(Node& node, const Token& at) {
    switch (node.op) {
      case OpCode::index_constant:
        node.integer = lex_.integer("an integer", std::numeric_limits<std::int64_t>::min(), kMost);
        if (lex_.peek().kind == Token::Kind::word) node.integer2 = named(out_.tiles, "a tile parameter") + 1;
        return;
      case OpCode::index_dim:
        node.integer = named(out_.dims, "a dim");
        return;
      case OpCode::index_scalar:
      case OpCode::scalar: {
        node.integer = named(out_.scalars, "a scalar");
        const DType found = out_.scalars[static_cast<std::size_t>(node.integer)].dtype;
        if (found != (node.op == OpCode::scalar ? DType::f32 : DType::i64))
          lex_.refuse(at, "a scalar of another dtype is asked for", "scalar for f32, index.scalar for i64",
                      std::string(dtype_name(found)));
        return;
      }
      case OpCode::constant:
        node.number = lex_.number();
        return;
      case OpCode::index_load:
      case OpCode::view:
      case OpCode::gather:
      case OpCode::assemble:
        return access(node, at);
      case OpCode::restrict:
        operands(node, at, 1, 1);
        return valid(node);
      case OpCode::result:
        node.integer = lex_.integer("a result's number", 0, TextLimits::operands);
        lex_.expect("of");
        return operands(node, at, 1, 1);
      case OpCode::where:
        return operands(node, at, 3, 3);
      case OpCode::concat:
        operands(node, at, 1, TextLimits::operands);
        return axis(node);
      case OpCode::iota:
        operands(node, at, 1, 1);
        return axis(node);
      case OpCode::slice:
        operands(node, at, 1, 1);
        lex_.expect("at");
        node.integer = lex_.integer("a row", 0, TextLimits::extent);
        lex_.expect(",");
        node.integer2 = lex_.integer("a column", 0, TextLimits::extent);
        return;
      case OpCode::top_k:
        operands(node, at, 1, 1);
        lex_.expect("k");
        node.integer = lex_.integer("k", 1, TextLimits::extent);
        return;
      case OpCode::matmul:
        operands(node, at, 2, 3);
        node.transposed = lex_.accept("transposed");
        return;
      default:
        break;
    }
    const bool two = is_binary(node.op) || is_index_arithmetic(node.op);
    operands(node, at, two ? 2 : 1, two ? 2 : 1);
    if (is_reduction(node.op)) axis(node);
  }

  Plan plan() {
    Plan plan;
    // A body's brace is followed by a value, yield or }.
    if (!lex_.at("{")) return plan;
    Lexer ahead = lex_;
    ahead.next();
    if (ahead.peek().kind != Token::Kind::word || ahead.at("yield")) return plan;
    lex_.expect("{");
    const auto number = [&] {
      lex_.expect("=");
      return static_cast<int>(lex_.integer("a number", 0, 1 << 20));
    };
    while (!lex_.accept("}")) {
      if (lex_.accept("nest"))
        plan.nest = number();
      else if (lex_.accept("stored"))
        plan.stored = true;
      else if (lex_.accept("vec"))
        plan.vector = number();
      else if (lex_.accept("unroll"))
        plan.unroll = number();
      else
        lex_.unexpected("nest, stored, vec, unroll or '}'");
    }
    return plan;
  }

  Lexer lex_;
  Program out_;
  std::map<std::string, int, std::less<>> names_;
  std::unordered_map<std::string_view, ValueId> values_;  // in scope
  std::vector<std::string_view> scope_;                   // in the order of definition
};

}  // namespace

Program parse(std::string_view text, const std::string& source) {
  if (text.size() > TextLimits::bytes)
    fail({.what = "a tile program's text is too long",
          .where = source,
          .expected = fmt::format("at most {} bytes", TextLimits::bytes),
          .found = std::to_string(text.size()),
          .fix = "split the program"});
  return Parser(text, source).program();
}

}  // namespace tilewright::tile

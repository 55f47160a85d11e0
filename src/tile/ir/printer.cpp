#include "tile/ir/printer.h"

#include <fmt/format.h>

#include <iterator>

#include "tile/ir/type_rule.h"

namespace tilewright::tile {
namespace {

// Nodes and blocks in the order of printing, each at most once.
struct Order {
  std::vector<ValueId> nodes;
  std::vector<BlockId> blocks;
  std::vector<int> node_number, block_number;

  explicit Order(const Program& program)
      : node_number(program.nodes.size(), kNone), block_number(program.blocks.size(), kNone) {
    if (!program.blocks.empty()) enter(program, 0);
  }

 private:
  bool add(const Program& program, ValueId id) {
    if (id < 0 || id >= static_cast<ValueId>(program.nodes.size())) return false;
    int& number = node_number[static_cast<std::size_t>(id)];
    if (number != kNone) return false;
    number = static_cast<int>(nodes.size());
    nodes.push_back(id);
    return true;
  }
  void enter(const Program& program, BlockId id) {
    if (id < 0 || id >= static_cast<BlockId>(program.blocks.size())) return;
    int& number = block_number[static_cast<std::size_t>(id)];
    if (number != kNone) return;
    number = static_cast<int>(blocks.size());
    blocks.push_back(id);
    for (const ValueId argument : program.block(id).arguments) add(program, argument);
    for (const ValueId node : program.block(id).nodes)
      if (add(program, node) && program.node(node).op == OpCode::loop) enter(program, program.node(node).body);
  }
};

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), order_(program) {}

  std::string text() {
    header();
    write("{{\n");
    if (!program_.blocks.empty()) body(program_.block(0), 1);
    write("}}\n");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void write(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  std::string value(ValueId id) const {
    if (id == kNone) return "-";
    if (id < 0 || id >= static_cast<ValueId>(program_.nodes.size())) return "%?";
    const int number = order_.node_number[static_cast<std::size_t>(id)];
    return number == kNone ? "%?" : fmt::format("%{}", number);
  }
  template <typename Names>
  static std::string name(const Names& names, std::int64_t i) {
    if (i < 0 || i >= static_cast<std::int64_t>(names.size())) return "?";
    if constexpr (std::is_same_v<typename Names::value_type, std::string>)
      return names[static_cast<std::size_t>(i)];
    else
      return names[static_cast<std::size_t>(i)].name;
  }

  void header() {
    write("program {}\n", program_.name);
    for (const std::string& dim : program_.dims) write("dim {}\n", dim);
    for (const TensorParameter& tensor : program_.tensors) {
      write("{} {} : {}[", tensor.access == Access::read ? "input" : "output", tensor.name, dtype_name(tensor.dtype));
      for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        const TensorDim& dim = tensor.shape[i];
        write("{}{}", i ? ", " : "", dim.symbol == kNone ? std::to_string(dim.size) : name(program_.dims, dim.symbol));
      }
      write("]\n");
    }
    for (const ScalarParameter& scalar : program_.scalars)
      write("scalar {} : {}\n", scalar.name, dtype_name(scalar.dtype));
    for (const TileParameter& tile : program_.tiles) {
      write("tile {} = ", tile.name);
      for (std::size_t i = 0; i < tile.choices.size(); ++i) write("{}{}", i ? " | " : "", tile.choices[i]);
      if (tile.chosen != 0) write(" chosen {}", tile.chosen);
      write("\n");
    }
  }

  void body(const Block& block, std::size_t depth) {
    if (depth > 1000) return;  // no valid program is so deep
    const std::string indent(2 * depth, ' ');
    for (const ValueId id : block.nodes) {
      if (id < 0 || id >= static_cast<ValueId>(program_.nodes.size())) {
        write("{}%?\n", indent);
        continue;
      }
      const Node& node = program_.node(id);
      write("{}{} = ", indent, value(id));
      if (node.op == OpCode::loop) {
        loop(node, depth);
      } else {
        write("{}", opcode_name(node.op));
        attributes(node);
        write(" : {}", type_text(program_, node.type));
        plan(node.plan);
      }
      write("\n");
    }
    if (!block.yields.empty()) write("{}yield{}\n", indent, list(block.yields, 0, block.yields.size()));
  }

  void loop(const Node& node, std::size_t depth) {
    const auto operand = [&](std::size_t i) { return i < node.operands.size() ? value(node.operands[i]) : "%?"; };
    const bool has_body = node.body >= 0 && node.body < static_cast<BlockId>(program_.blocks.size());
    const Block none;
    const Block& block = has_body ? program_.block(node.body) : none;
    const auto argument = [&](std::size_t i) { return i < block.arguments.size() ? block.arguments[i] : kNone; };
    write("{} {} {} = {} to {} step {}", node.parallel ? "parallel" : "loop", block.variable, value(argument(0)),
          operand(0), operand(1), operand(2));
    for (std::size_t i = kLoopInitial; i < node.operands.size(); ++i) {
      const ValueId carried = argument(i - 2);
      write("{} {} = {}", i == kLoopInitial ? " carry" : ",", value(carried), operand(i));
      if (carried >= 0 && carried < static_cast<ValueId>(program_.nodes.size()))
        write(" : {}", type_text(program_, program_.node(carried).type));
    }
    plan(node.plan);
    write(" {{\n");
    body(block, depth + 1);
    write("{}}}", std::string(2 * depth, ' '));
  }

  std::string list(const std::vector<ValueId>& values, std::size_t from, std::size_t to) const {
    std::string text;
    for (std::size_t i = from; i < to && i < values.size(); ++i) text += (i == from ? " " : ", ") + value(values[i]);
    return text;
  }

  void access(const Node& node) {
    const std::size_t first = static_cast<std::size_t>(first_offset(node.op));
    const std::size_t count = node.operands.size();
    const bool block = node.op != OpCode::index_load;
    const std::size_t last = block ? (count >= 2 ? count - 2 : 0) : count;
    std::string offsets = list(node.operands, first, last);
    write(" {}[{}]", name(program_.tensors, node.tensor), offsets.empty() ? offsets : offsets.substr(1));
    if (node.op == OpCode::assemble) write(" from{}", list(node.operands, 0, 1));
    if (node.op == OpCode::gather) write(" by{}", list(node.operands, 0, 1));
    if (!block) return;
    const auto dim = [](int i) { return i == kNone ? "-" : std::to_string(i); };
    write(" rows {} columns {}", dim(node.row_dim), dim(node.column_dim));
    valid(node);
  }
  void valid(const Node& node) {
    if (node.operands.size() < 2) return;
    const ValueId rows = valid_operand(node, 0), columns = valid_operand(node, 1);
    if (rows != kNone || columns != kNone) write(" valid {}, {}", value(rows), value(columns));
  }

  void attributes(const Node& node) {
    switch (node.op) {
      case OpCode::index_constant:
        write(" {}", node.integer);
        if (node.integer2 != 0) write(" {}", name(program_.tiles, node.integer2 - 1));
        return;
      case OpCode::index_dim:
        return write(" {}", name(program_.dims, node.integer));
      case OpCode::index_scalar:
      case OpCode::scalar:
        return write(" {}", name(program_.scalars, node.integer));
      case OpCode::constant:
        return write(" {}", node.number);  // the shortest decimal that reads back as the same number
      case OpCode::index_load:
      case OpCode::view:
      case OpCode::gather:
      case OpCode::assemble:
        return access(node);
      case OpCode::restrict:
        write("{}", list(node.operands, 0, 1));
        return valid(node);
      case OpCode::result:
        return write(" {} of{}", node.integer, list(node.operands, 0, 1));
      default:
        break;
    }
    write("{}", list(node.operands, 0, node.operands.size()));
    if (node.op == OpCode::slice) write(" at {}, {}", node.integer, node.integer2);
    if (node.op == OpCode::top_k) write(" k {}", node.integer);
    if (node.op == OpCode::iota || node.op == OpCode::concat || is_reduction(node.op)) write(" axis {}", node.axis);
    if (node.transposed) write(" transposed");
  }

  void plan(const Plan& plan) {
    std::string text;
    if (plan.nest != kNone) text += fmt::format(" nest={}", plan.nest);
    if (plan.stored) text += " stored";
    if (plan.vector != 0) text += fmt::format(" vec={}", plan.vector);
    if (plan.unroll != 0) text += fmt::format(" unroll={}", plan.unroll);
    if (!text.empty()) write(" {{{}}}", text.substr(1));
  }

  const Program& program_;
  const Order order_;
  std::string out_;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).text(); }

std::vector<int> printed_numbers(const Program& program) { return Order(program).node_number; }

Program renumbered(const Program& program) {
  const Order order(program);
  const auto number = [](const std::vector<int>& numbers, int id) {
    return id < 0 || id >= static_cast<int>(numbers.size()) ? kNone : numbers[static_cast<std::size_t>(id)];
  };
  Program out = program;
  out.nodes.clear();
  out.blocks.clear();
  for (const ValueId id : order.nodes) {
    Node node = program.node(id);
    for (ValueId& operand : node.operands) operand = number(order.node_number, operand);
    node.body = number(order.block_number, node.body);
    out.nodes.push_back(std::move(node));
  }
  for (const BlockId id : order.blocks) {
    Block block = program.block(id);
    for (auto* values : {&block.arguments, &block.nodes, &block.yields})
      for (ValueId& value : *values) value = number(order.node_number, value);
    out.blocks.push_back(std::move(block));
  }
  return out;
}

}  // namespace tilewright::tile

#include "tile/random/coverage.h"

#include <fmt/format.h>

namespace tilewright::tile {
namespace {

// Whether an index is made of a number that a tensor holds.
bool reads_tensor(const Program& program, ValueId id) {
  const Node& node = program.node(id);
  if (node.op == OpCode::index_load) return true;
  return is_index_arithmetic(node.op) &&
         (reads_tensor(program, node.operands[0]) || reads_tensor(program, node.operands[1]));
}

std::int64_t count_live(const Program& program) {
  std::int64_t nodes = 0;
  for (const Block& block : program.blocks) nodes += static_cast<std::int64_t>(block.nodes.size());
  return nodes;
}

}  // namespace

void Coverage::add(const Program& program) {
  ++programs;
  for (const Node& node : program.nodes) {
    ++nodes[static_cast<std::size_t>(node.op)];
    const auto feature = [&](bool has, const std::string& name) { features[name] += has ? 1 : 0; };
    if (node.op == OpCode::loop) {
      feature(node.parallel, "parallel loop");
      feature(node.operands.size() > kLoopInitial, "loop that carries tiles");
      feature(reads_tensor(program, node.operands[kLoopStop]), "loop bound read from a tensor");
    }
    if (node.op == OpCode::matmul) {
      feature(true, fmt::format("matmul of {}", dtype_name(program.node(node.operands[0]).type.dtype)));
      feature(node.transposed, "matmul transposed");
      feature(node.operands.size() > 2 && node.operands[2] != kNone, "matmul with an accumulator");
    }
    if (accesses_tensor(node.op) && node.op != OpCode::index_load) {
      feature(valid_operand(node, 0) != kNone, "rows cut at a tensor's end");
      feature(valid_operand(node, 1) != kNone, "columns cut at a tensor's end");
      feature(program.tensor(node.tensor).shape.size() == 3, "tensor of rank 3");
    }
    if (node.op == OpCode::cast)
      feature(true, fmt::format("cast {} to {}", dtype_name(program.node(node.operands[0]).type.dtype),
                                dtype_name(node.type.dtype)));
    feature(!node.type.index && (!node.type.rows.fixed() || !node.type.columns.fixed()), "tile of a chosen size");
  }
}

void Coverage::pass(const std::string& name, const Program& before, const Program& after) {
  std::int64_t& changed = passes[name];
  if (before == after) return;
  ++changed;
  const std::int64_t fewer = count_live(before) - count_live(after);
  rewrites[name + (fewer >= 0 ? ": nodes fewer" : ": nodes more")] += fewer >= 0 ? fewer : -fewer;
  std::int64_t plans = 0, more_stored = 0;
  for (const Node& node : after.nodes) {
    plans += node.plan == Plan{} ? 0 : 1;
    more_stored += node.plan.stored ? 1 : 0;
  }
  rewrites[name + ": nodes with a plan"] += plans;
  rewrites[name + ": tiles stored"] += more_stored;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> names;
  for (int i = 0; i < kOpCodes; ++i)
    if (nodes[static_cast<std::size_t>(i)] == 0) names.emplace_back(opcode_name(static_cast<OpCode>(i)));
  return names;
}

std::string Coverage::text() const {
  std::string text = fmt::format("{} programs\n", programs);
  for (int i = 0; i < kOpCodes; ++i)
    text += fmt::format("  {:<36} {}\n", opcode_name(static_cast<OpCode>(i)), nodes[static_cast<std::size_t>(i)]);
  for (const auto& [name, count] : features) text += fmt::format("  {:<36} {}\n", name, count);
  for (const auto& [name, count] : passes) text += fmt::format("  pass {} changed {} programs\n", name, count);
  for (const auto& [name, count] : rewrites) text += fmt::format("  {:<36} {}\n", name, count);
  return text;
}

}  // namespace tilewright::tile

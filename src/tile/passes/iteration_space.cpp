#include "tile/passes/iteration_space.h"

#include <algorithm>

namespace tilewright::tile {

bool is_single(const Type& type) { return type.rows.one() && type.columns.one(); }

bool is_materialised(const Program& program, ValueId id) {
  const Node& node = program.node(id);
  return node.plan.stored || is_reduction(node.op) || node.op == OpCode::matmul || node.op == OpCode::top_k ||
         node.op == OpCode::loop || node.op == OpCode::carried || node.op == OpCode::result;
}

std::vector<ValueId> tile_operands(const Program& program, ValueId id) {
  std::vector<ValueId> out;
  const Node& node = program.node(id);
  for (const ValueId operand : node.operands)
    if (operand != kNone && (!program.node(operand).type.index || node.op == OpCode::result)) out.push_back(operand);
  return out;
}

bool keeps_position(OpCode op) { return is_elementwise(op) || op == OpCode::restrict || op == OpCode::assemble; }

bool keeps_row(const Program& program, const Node& node) {
  switch (node.op) {
    case OpCode::transpose:
      return false;
    case OpCode::reshape:
      return node.type.rows == program.node(node.operands[0]).type.rows;
    case OpCode::slice:
      return node.integer == 0 && node.type.rows == program.node(node.operands[0]).type.rows;
    case OpCode::concat:
      return node.axis == 1;
    default:
      return true;
  }
}

IterationSpaces::IterationSpaces(const Program& program) : program_(program) {}

ValueId IterationSpaces::canonical(ValueId index) {
  if (index == kNone) return kNone;
  if (const auto found = canonical_.find(index); found != canonical_.end()) return found->second;
  Node key = program_.node(index);
  if (key.op != OpCode::loop_variable)
    for (ValueId& operand : key.operands) operand = canonical(operand);
  for (const ValueId other : distinct_) {
    Node known = program_.node(other);
    if (known.op != key.op || key.op == OpCode::loop_variable) continue;
    for (ValueId& operand : known.operands) operand = canonical(operand);
    if (known == key) return canonical_[index] = other;
  }
  distinct_.push_back(index);
  return canonical_[index] = index;
}

namespace {

void add_bound(std::vector<ValueId>& bounds, std::vector<ValueId>& canonical, ValueId bound, ValueId same) {
  if (bound == kNone || std::find(canonical.begin(), canonical.end(), same) != canonical.end()) return;
  bounds.push_back(bound);
  canonical.push_back(same);
  std::sort(canonical.begin(), canonical.end());
}

}  // namespace

IterationSpace IterationSpaces::of_tile(ValueId id) {
  const Type& type = program_.node(id).type;
  IterationSpace out{program_.size(type.rows), program_.size(type.columns), {}, {}, {}, {}};
  const ValueId rows = program_.valid_extent(id, 0), columns = program_.valid_extent(id, 1);
  add_bound(out.valid_rows, out.canonical_rows, rows, canonical(rows));
  add_bound(out.valid_columns, out.canonical_columns, columns, canonical(columns));
  return out;
}

IterationSpace IterationSpaces::of_root(ValueId id) {
  const Node& node = program_.node(id);
  if (node.op != OpCode::assemble && !is_reduction(node.op)) return of_tile(id);
  IterationSpace out = of_tile(node.operands[0]);
  if (node.op == OpCode::assemble) {
    const ValueId rows = valid_operand(node, 0), columns = valid_operand(node, 1);
    add_bound(out.valid_rows, out.canonical_rows, rows, canonical(rows));
    add_bound(out.valid_columns, out.canonical_columns, columns, canonical(columns));
  }
  return out;
}

}  // namespace tilewright::tile

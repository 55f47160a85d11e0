#include "tile/ir/program.h"

#include <unordered_map>

namespace tilewright::tile {

std::int64_t Program::size(const Extent& extent) const {
  return extent.fixed() ? extent.size : tiles[static_cast<std::size_t>(extent.parameter)].chosen;
}

std::vector<bool> Program::unit_stride(int i) const {
  std::vector<bool> unit(tensor(i).shape.size(), false);
  for (const Node& node : nodes)
    if (node.tensor == i && node.column_dim >= 0 && !node.type.columns.one())
      unit[static_cast<std::size_t>(node.column_dim)] = true;
  return unit;
}

ValueId Program::valid_extent(ValueId tile, int axis) const {
  // Operands are often shared, so each is asked once per axis.
  std::unordered_map<ValueId, ValueId> known[2];
  const std::function<ValueId(ValueId, int)> of = [&](ValueId id, int along) {
    if (const auto found = known[along].find(id); found != known[along].end()) return found->second;
    return known[along][id] = valid_extent_rule(*this, id, along, of);
  };
  return of(tile, axis);
}

ValueId valid_extent_rule(const Program& program, ValueId tile, int axis,
                          const std::function<ValueId(ValueId, int)>& of) {
  const Node& n = program.node(tile);
  const auto of_operands = [&] {
    for (const ValueId operand : n.operands)
      if (operand != kNone && !program.node(operand).type.index)
        if (const ValueId valid = of(operand, axis); valid != kNone) return valid;
    return kNone;
  };
  if (is_elementwise(n.op)) return of_operands();
  if (is_reduction(n.op)) return n.axis == axis ? kNone : of(n.operands[0], axis);
  switch (n.op) {
    case OpCode::view:
    case OpCode::gather:
      return valid_operand(n, axis);
    case OpCode::restrict: {
      const ValueId own = valid_operand(n, axis);
      return own != kNone ? own : of(n.operands[0], axis);
    }
    case OpCode::broadcast: {
      const Type& from = program.node(n.operands[0]).type;
      const bool spread = (axis == 0 ? from.rows : from.columns).one();
      return spread ? kNone : of(n.operands[0], axis);
    }
    case OpCode::transpose:
      return of(n.operands[0], 1 - axis);
    case OpCode::slice: {
      const Type& from = program.node(n.operands[0]).type;
      const bool all = axis == 0 ? n.type.rows == from.rows : n.type.columns == from.columns;
      return all ? of(n.operands[0], axis) : kNone;
    }
    case OpCode::concat:
      return n.axis == axis ? kNone : of_operands();
    case OpCode::matmul:
      return axis == 0 ? of(n.operands[0], 0) : of(n.operands[1], n.transposed ? 0 : 1);
    case OpCode::result: {
      const Node& from = program.node(n.operands[0]);
      return from.op == OpCode::top_k && axis == 0 ? of(from.operands[0], 0) : kNone;
    }
    default:
      return kNone;
  }
}

}  // namespace tilewright::tile

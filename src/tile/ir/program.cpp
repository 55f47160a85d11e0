#include "tile/ir/program.h"

#include "base/error.h"

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
  const Node& n = node(tile);
  const auto of_operands = [&] {
    for (const ValueId operand : n.operands)
      if (operand != kNone && !node(operand).type.index)
        if (const ValueId valid = valid_extent(operand, axis); valid != kNone) return valid;
    return kNone;
  };
  if (is_elementwise(n.op)) return of_operands();
  if (is_reduction(n.op)) return n.axis == axis ? kNone : valid_extent(n.operands[0], axis);
  switch (n.op) {
    case OpCode::view:
    case OpCode::gather:
      return valid_operand(n, axis);
    case OpCode::restrict: {
      const ValueId own = valid_operand(n, axis);
      return own != kNone ? own : valid_extent(n.operands[0], axis);
    }
    case OpCode::broadcast: {
      const Type& from = node(n.operands[0]).type;
      const bool spread = (axis == 0 ? from.rows : from.columns).one();
      return spread ? kNone : valid_extent(n.operands[0], axis);
    }
    case OpCode::transpose:
      return valid_extent(n.operands[0], 1 - axis);
    case OpCode::slice:
      return (axis == 0 ? n.type.rows == node(n.operands[0]).type.rows
                        : n.type.columns == node(n.operands[0]).type.columns)
                 ? valid_extent(n.operands[0], axis)
                 : kNone;
    case OpCode::concat:
      return n.axis == axis ? kNone : of_operands();
    case OpCode::matmul:
      return axis == 0 ? valid_extent(n.operands[0], 0) : valid_extent(n.operands[1], n.transposed ? 0 : 1);
    case OpCode::result: {
      const Node& from = node(n.operands[0]);
      if (from.op == OpCode::top_k) return axis == 0 ? valid_extent(from.operands[0], 0) : kNone;
      return kNone;
    }
    default:
      return kNone;
  }
}

}  // namespace tilewright::tile

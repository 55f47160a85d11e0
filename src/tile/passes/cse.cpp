#include "tile/passes/cse.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "tile/ir/printer.h"

namespace tilewright::tile {
namespace {

bool commutes(OpCode op) {
  switch (op) {
    case OpCode::index_add:
    case OpCode::index_mul:
    case OpCode::index_min:
    case OpCode::index_max:
    case OpCode::add:
    case OpCode::mul:
    case OpCode::minimum:
    case OpCode::maximum:
    case OpCode::eq:
    case OpCode::ne:
    case OpCode::logical_and:
    case OpCode::logical_or:
      return true;
    default:
      return false;
  }
}

// Everything that decides what a node computes, as numbers. Constants by their bits: 0 is not -0, and NaN equals
// itself.
std::vector<std::int64_t> key(const Node& node) {
  std::vector<std::int64_t> all = {static_cast<std::int64_t>(node.op),
                                   node.type.index,
                                   static_cast<std::int64_t>(node.type.dtype),
                                   node.type.rows.size,
                                   node.type.rows.parameter,
                                   node.type.columns.size,
                                   node.type.columns.parameter,
                                   std::bit_cast<std::int64_t>(node.number),
                                   node.integer,
                                   node.integer2,
                                   node.tensor,
                                   node.row_dim,
                                   node.column_dim,
                                   node.axis,
                                   node.transposed};
  const std::size_t first = all.size();
  all.insert(all.end(), node.operands.begin(), node.operands.end());
  if (commutes(node.op)) std::sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  return all;
}

class SameValues {
 public:
  explicit SameValues(Program& program) : program_(program), same_(program.nodes.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  void block(BlockId id) {
    std::vector<decltype(seen_)::iterator> mine;
    std::vector<ValueId> kept;
    for (const ValueId value : program_.block(id).nodes) {
      Node& node = program_.node(value);
      replace(node.operands);
      if (node.op == OpCode::loop) {
        block(node.body);
      } else if (node.op != OpCode::assemble) {
        const auto [entry, is_new] = seen_.emplace(key(node), value);
        if (!is_new) {
          same_[static_cast<std::size_t>(value)] = entry->second;
          continue;
        }
        mine.push_back(entry);
      }
      kept.push_back(value);
    }
    replace(program_.block(id).yields);
    program_.block(id).nodes = std::move(kept);
    for (const auto& entry : mine) seen_.erase(entry);
  }

 private:
  void replace(std::vector<ValueId>& values) const {
    for (ValueId& value : values)
      if (value != kNone) value = same_[static_cast<std::size_t>(value)];
  }

  Program& program_;
  std::vector<ValueId> same_;
  std::map<std::vector<std::int64_t>, ValueId> seen_;  // by the blocks that are open
};

}  // namespace

Program cse(Program program) {
  SameValues(program).block(0);
  return renumbered(program);
}

}  // namespace tilewright::tile

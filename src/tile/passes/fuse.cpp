#include "tile/passes/fuse.h"

#include <algorithm>
#include <map>
#include <set>

#include "tile/passes/iteration_space.h"

namespace tilewright::tile {
namespace {

bool is_costly(OpCode op) {
  return in_range(op, OpCode::exp, OpCode::gelu_tanh) || op == OpCode::div || op == OpCode::gather;
}

class Fusion {
 public:
  explicit Fusion(Program& program) : program_(program), spaces_(program) {
    home_.assign(program.nodes.size(), kNone);
    for (BlockId block = 0; block < static_cast<BlockId>(program.blocks.size()); ++block) {
      for (const ValueId id : program.block(block).nodes) home_[static_cast<std::size_t>(id)] = block;
      for (const ValueId id : program.block(block).arguments) home_[static_cast<std::size_t>(id)] = block;
    }
  }

  void run() {
    for (Node& node : program_.nodes) node.plan = {};
    mark_required(0);
    form();
    for (ValueId costly = next_costly(); costly != kNone; costly = next_costly()) {
      program_.node(costly).plan.stored = true;
      form();
    }
  }

 private:
  struct Nest {
    int number = 0;
    bool open = false;  // may take further roots
    IterationSpace space;
    std::vector<ValueId> roots;
  };

  void store(ValueId id) {
    Node& node = program_.node(id);
    if (!is_single(node.type) && !is_materialised(program_, id)) node.plan.stored = true;
  }
  bool plain_view(ValueId id) const { return program_.node(id).op == OpCode::view; }

  void mark_required(BlockId block) {
    for (const ValueId id : program_.block(block).nodes) {
      const Node node = program_.node(id);
      if (node.op == OpCode::matmul) {
        for (std::size_t i = 0; i < 2; ++i)
          if (!plain_view(node.operands[i])) store(node.operands[i]);
        // A left operand from outside the loop is brought into the form that products want once.
        if (home_[static_cast<std::size_t>(node.operands[0])] != block) store(node.operands[0]);
      } else if (node.op == OpCode::top_k) {
        if (!plain_view(node.operands[0])) store(node.operands[0]);
      } else if (node.op == OpCode::reshape) {
        const Node& from = program_.node(node.operands[0]);
        const bool same = from.type.rows == node.type.rows && from.type.columns == node.type.columns;
        if (!same && !(plain_view(node.operands[0]) && from.type.rows.one())) store(node.operands[0]);
      } else if (node.op == OpCode::loop) {
        mark_required(node.body);
        for (const ValueId next : program_.block(node.body).yields)
          if (home_[static_cast<std::size_t>(next)] == node.body) store(next);
      }
    }
  }

  bool is_root(ValueId id) const {
    const Node& node = program_.node(id);
    return node.op == OpCode::assemble || is_reduction(node.op) || node.op == OpCode::matmul ||
           node.op == OpCode::top_k || node.op == OpCode::loop || node.plan.stored;
  }

  void form() {
    numbers_ = 0;
    for (Node& node : program_.nodes) node.plan.nest = kNone;
    form_block(0);
  }

  void form_block(BlockId block) {
    std::vector<Nest> nests;
    std::map<ValueId, int> place;  // of a materialised node of this block: its position in `nests`
    for (const ValueId id : program_.block(block).nodes) {
      if (!is_root(id)) continue;
      const Node& node = program_.node(id);
      const bool fusible = node.op == OpCode::assemble || (is_reduction(node.op) && node.axis == 1) ||
                           (node.plan.stored && !is_reduction(node.op));
      int chosen = kNone;
      IterationSpace space;
      if (fusible) {
        space = spaces_.of_root(id);
        chosen = find(nests, place, id, space);
      }
      if (chosen == kNone) {
        nests.push_back({numbers_++, fusible, space, {}});
        chosen = static_cast<int>(nests.size()) - 1;
      }
      Nest& nest = nests[static_cast<std::size_t>(chosen)];
      nest.roots.push_back(id);
      program_.node(id).plan.nest = nest.number;
      place[id] = chosen;
      if (node.op == OpCode::loop) form_block(node.body);
    }
  }

  // The last nest that may take the root; kNone: none.
  int find(const std::vector<Nest>& nests, const std::map<ValueId, int>& place, ValueId root,
           const IterationSpace& space) {
    int lowest = 0;  // the first position that comes after everything needed
    std::set<std::pair<ValueId, bool>> seen;
    const auto visit = [&](auto&& self, ValueId id, bool here) -> void {
      for (const ValueId operand : tile_operands(program_, id)) {
        if (!seen.insert({operand, here}).second) continue;
        const ValueId source =
            program_.node(operand).op == OpCode::result ? program_.node(operand).operands[0] : operand;
        if (const auto at = place.find(source); at != place.end()) {
          const bool joins = here && program_.node(source).plan.stored && !is_reduction(program_.node(source).op);
          lowest = std::max(lowest, at->second + (joins ? 0 : 1));
        } else if (!is_materialised(program_, operand)) {
          self(self, operand, here && keeps_position(program_.node(operand).op));
        }
      }
    };
    const OpCode op = program_.node(root).op;
    visit(visit, root, keeps_position(op) || is_reduction(op));
    for (int i = static_cast<int>(nests.size()) - 1; i >= lowest; --i) {
      const Nest& nest = nests[static_cast<std::size_t>(i)];
      const bool conflict = op == OpCode::assemble && !may_stand_beside(nest, root);
      if (nest.open && nest.space == space && !conflict) return i;
      if (conflict) return kNone;
      // Never past a loop: it may write what the root writes, and its work evicts what the nest left in the cache.
      if (!nest.roots.empty() && program_.node(nest.roots[0]).op == OpCode::loop) return kNone;
    }
    return kNone;
  }

  // Whether the assemble `root` may be carried out along with, or before, the nest's.
  bool may_stand_beside(const Nest& nest, ValueId root) {
    const Node& node = program_.node(root);
    return std::all_of(nest.roots.begin(), nest.roots.end(), [&](ValueId other) {
      const Node& known = program_.node(other);
      return known.op != OpCode::assemble || known.tensor != node.tensor || disjoint(known, node);
    });
  }

  bool disjoint(const Node& a, const Node& b) {
    for (std::size_t dim = 0; dim + 3 < a.operands.size(); ++dim) {
      const Node& first = program_.node(a.operands[dim + 1]);
      const Node& second = program_.node(b.operands[dim + 1]);
      if (first.op != OpCode::index_constant || second.op != OpCode::index_constant) continue;
      const auto extent = [&](const Node& node) -> std::int64_t {
        const Type& type = program_.node(node.operands[0]).type;
        const int at = static_cast<int>(dim);
        return at == node.row_dim ? program_.size(type.rows) : at == node.column_dim ? program_.size(type.columns) : 1;
      };
      if (first.integer + extent(a) <= second.integer || second.integer + extent(b) <= first.integer) return true;
    }
    return false;
  }

  // A costly tile that is not stored and would be computed by two nests or again and again in an inner loop; of those
  // that depend on one another the last.
  ValueId next_costly() {
    std::map<ValueId, std::set<int>> users;
    std::set<ValueId> inner;
    for (ValueId root = 0; root < static_cast<ValueId>(program_.nodes.size()); ++root) {
      if (home_[static_cast<std::size_t>(root)] == kNone || !is_root(root)) continue;
      std::set<ValueId> seen;
      const auto visit = [&](auto&& self, ValueId id) -> void {
        for (const ValueId operand : tile_operands(program_, id)) {
          if (is_materialised(program_, operand) || !seen.insert(operand).second) continue;
          users[operand].insert(program_.node(root).plan.nest);
          if (home_[static_cast<std::size_t>(operand)] != home_[static_cast<std::size_t>(root)]) inner.insert(operand);
          self(self, operand);
        }
      };
      visit(visit, root);
    }
    ValueId out = kNone;
    for (const auto& [id, nests] : users) {
      const Node& node = program_.node(id);
      if (!is_costly(node.op) || is_single(node.type)) continue;
      if (nests.size() > 1 || inner.count(id) != 0) out = std::max(out, id);
    }
    return out;
  }

  Program& program_;
  IterationSpaces spaces_;
  std::vector<BlockId> home_;  // of every node; kNone: in no block
  int numbers_ = 0;
};

}  // namespace

Program fuse(Program program) {
  Fusion(program).run();
  return program;
}

}  // namespace tilewright::tile

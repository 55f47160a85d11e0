#include "tile/random/shrink.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

void replace_uses(Program& program, ValueId from, ValueId to) {
  for (Node& node : program.nodes)
    for (ValueId& operand : node.operands)
      if (operand == from) operand = to;
  for (Block& block : program.blocks)
    for (ValueId& yield : block.yields)
      if (yield == from) yield = to;
}

bool writes(const Program& program, BlockId block) {
  return std::any_of(program.block(block).nodes.begin(), program.block(block).nodes.end(), [&](ValueId id) {
    const Node& node = program.node(id);
    return node.op == OpCode::assemble || (node.op == OpCode::loop && writes(program, node.body));
  });
}

// Every operand is defined before, in this block or one around it.
bool in_order(const Program& program, BlockId block, std::vector<bool>& visible) {
  std::vector<ValueId> here = program.block(block).arguments;
  const auto show = [&](ValueId id) { visible[static_cast<std::size_t>(id)] = true; };
  const auto seen = [&](ValueId id) { return id == kNone || visible[static_cast<std::size_t>(id)]; };
  std::for_each(here.begin(), here.end(), show);
  bool good = true;
  for (const ValueId id : program.block(block).nodes) {
    const Node& node = program.node(id);
    good = good && std::all_of(node.operands.begin(), node.operands.end(), seen);
    if (node.op == OpCode::loop) good = good && in_order(program, node.body, visible);
    show(id);
    here.push_back(id);
  }
  good = good && std::all_of(program.block(block).yields.begin(), program.block(block).yields.end(), seen);
  for (const ValueId id : here) visible[static_cast<std::size_t>(id)] = false;
  return good;
}

// Without nodes that nobody uses, then renumbered.
Program without_unused(Program program) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> used(program.nodes.size(), false);
    for (const Block& block : program.blocks) {
      for (const ValueId yield : block.yields) used[static_cast<std::size_t>(yield)] = true;
      for (const ValueId id : block.nodes)
        for (const ValueId operand : program.node(id).operands)
          if (operand != kNone) used[static_cast<std::size_t>(operand)] = true;
    }
    for (Block& block : program.blocks) {
      const auto dead = [&](ValueId id) {
        const Node& node = program.node(id);
        if (used[static_cast<std::size_t>(id)] || node.op == OpCode::assemble) return false;
        return node.op != OpCode::loop || !writes(program, node.body);
      };
      changed = std::erase_if(block.nodes, dead) > 0 || changed;
    }
    if (changed) program = renumbered(program);
  }
  return renumbered(program);
}

// Without carried tile `i` of a loop whose result and argument nobody uses.
void drop_unused_carried(Program& program) {
  for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id) {
    Node& loop = program.node(id);
    if (loop.op != OpCode::loop) continue;
    Block& body = program.block(loop.body);
    for (std::size_t i = body.yields.size(); i-- > 0;) {
      const ValueId argument = body.arguments[1 + i];
      bool used = false;
      std::vector<ValueId> later;  // results with higher numbers
      for (const Block& block : program.blocks) {
        for (const ValueId other : block.nodes) {
          const Node& node = program.node(other);
          used = used || std::count(node.operands.begin(), node.operands.end(), argument) > 0;
          if (node.op != OpCode::result || node.operands[0] != id) continue;
          used = used || node.integer == static_cast<std::int64_t>(i);
          if (node.integer > static_cast<std::int64_t>(i)) later.push_back(other);
        }
        for (const ValueId yield : block.yields) used = used || (yield == argument && &block != &body);
      }
      for (std::size_t j = 0; j < body.yields.size(); ++j) used = used || (j != i && body.yields[j] == argument);
      if (used) continue;
      for (const ValueId other : later) --program.node(other).integer;
      body.yields.erase(body.yields.begin() + static_cast<std::ptrdiff_t>(i));
      body.arguments.erase(body.arguments.begin() + 1 + static_cast<std::ptrdiff_t>(i));
      loop.operands.erase(loop.operands.begin() + kLoopInitial + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// Tensors, dims and scalars that nothing needs go; what is left keeps its order.
TileCase without_parameters(TileCase c) {
  Program& p = c.program;
  std::vector<bool> tensor(p.tensors.size(), false), dim(p.dims.size(), false), scalar(p.scalars.size(), false);
  for (const Node& node : p.nodes) {
    if (node.tensor != kNone) tensor[static_cast<std::size_t>(node.tensor)] = true;
    if (node.op == OpCode::index_dim) dim[static_cast<std::size_t>(node.integer)] = true;
    if (node.op == OpCode::scalar || node.op == OpCode::index_scalar)
      scalar[static_cast<std::size_t>(node.integer)] = true;
  }
  std::vector<bool> given(p.dims.size(), false);
  const auto note = [&](std::size_t t, std::vector<bool>& into) {
    for (const TensorDim& d : p.tensors[t].shape)
      if (d.symbol != kNone) into[static_cast<std::size_t>(d.symbol)] = true;
  };
  for (std::size_t t = 0; t < tensor.size(); ++t)
    if (tensor[t]) note(t, dim), note(t, given);
  for (std::size_t t = 0; t < tensor.size(); ++t) {
    const auto& shape = p.tensors[t].shape;
    const bool gives = !tensor[t] && shape.size() == 1 && shape[0].symbol != kNone &&
                       dim[static_cast<std::size_t>(shape[0].symbol)] &&
                       !given[static_cast<std::size_t>(shape[0].symbol)];
    if (gives) tensor[t] = true, note(t, given);
  }
  const auto numbers = [](const std::vector<bool>& keep) {
    std::vector<int> out;
    int next = 0;
    for (const bool k : keep) out.push_back(k ? next++ : kNone);
    return out;
  };
  const std::vector<int> tensors = numbers(tensor), dims = numbers(dim), scalars = numbers(scalar);
  const auto filter = [](auto& list, const std::vector<bool>& keep) {
    std::size_t at = 0;
    std::erase_if(list, [&](const auto&) { return !keep[at++]; });
  };
  for (Node& node : p.nodes) {
    if (node.tensor != kNone) node.tensor = tensors[static_cast<std::size_t>(node.tensor)];
    if (node.op == OpCode::index_dim) node.integer = dims[static_cast<std::size_t>(node.integer)];
    if (node.op == OpCode::scalar || node.op == OpCode::index_scalar)
      node.integer = scalars[static_cast<std::size_t>(node.integer)];
  }
  filter(p.tensors, tensor);
  filter(c.tensors, tensor);
  filter(p.dims, dim);
  filter(c.dims, dim);
  filter(p.scalars, scalar);
  filter(c.scalars, scalar);
  for (TensorParameter& t : p.tensors)
    for (TensorDim& d : t.shape)
      if (d.symbol != kNone) d.symbol = dims[static_cast<std::size_t>(d.symbol)];
  return c;
}

// One iteration in place of a loop: its first.
std::optional<Program> without_loop(Program program, BlockId in, std::size_t at) {
  const ValueId id = program.block(in).nodes[at];
  const Node loop = program.node(id);
  const Block body = program.block(loop.body);
  for (Node& node : program.nodes)
    if ((node.op == OpCode::is_first || node.op == OpCode::is_last) && node.operands[0] == body.arguments[0])
      node = {.op = OpCode::constant, .type = node.type, .number = 1};
  replace_uses(program, body.arguments[0], loop.operands[kLoopStart]);
  for (std::size_t i = 1; i < body.arguments.size(); ++i)
    replace_uses(program, body.arguments[i], loop.operands[kLoopInitial + i - 1]);
  const std::vector<ValueId> yields = program.block(loop.body).yields;
  for (ValueId other = 0; other < static_cast<ValueId>(program.nodes.size()); ++other)
    if (program.node(other).op == OpCode::result && program.node(other).operands[0] == id) {
      replace_uses(program, other, yields[static_cast<std::size_t>(program.node(other).integer)]);
      for (Block& block : program.blocks) std::erase(block.nodes, other);
    }
  std::vector<ValueId>& nodes = program.block(in).nodes;
  const auto place = std::find(nodes.begin(), nodes.end(), id) - nodes.begin();
  nodes.erase(nodes.begin() + place);
  const std::vector<ValueId> inner = program.block(loop.body).nodes;
  nodes.insert(nodes.begin() + place, inner.begin(), inner.end());
  return program;
}

class Shrinker {
 public:
  Shrinker(TileCase c, const std::function<bool(const TileCase&)>& fails, int attempts)
      : case_(std::move(c)), fails_(fails), left_(attempts) {}

  TileCase run() {
    for (bool changed = true; changed && left_ > 0;) {
      changed = writes_go();
      changed = loops_go() || changed;
      changed = nodes_go() || changed;
      changed = arguments_shrink() || changed;
    }
    return case_;
  }

 private:
  bool attempt(TileCase next, bool program_changed) {
    if (left_-- <= 0) return false;
    try {
      if (program_changed) {
        std::vector<bool> visible(next.program.nodes.size(), false);
        if (!in_order(next.program, 0, visible)) return false;
        next.program = without_unused(std::move(next.program));
        drop_unused_carried(next.program);
        next.program = without_unused(std::move(next.program));
        next = without_parameters(std::move(next));
        verify(next.program);
      }
      if (!fails_(next)) return false;
    } catch (const Error&) {
      return false;
    }
    case_ = std::move(next);
    return true;
  }
  template <typename Edit>
  bool edit(const Edit& change, bool program_changed = true) {
    TileCase next = case_;
    change(next);
    return attempt(std::move(next), program_changed);
  }

  bool writes_go() {
    bool changed = false;
    for (std::size_t b = 0; b < case_.program.blocks.size(); ++b)
      for (std::size_t i = 0; b < case_.program.blocks.size() && i < case_.program.blocks[b].nodes.size();) {
        const OpCode op = case_.program.node(case_.program.blocks[b].nodes[i]).op;
        const bool gone = (op == OpCode::assemble || op == OpCode::loop) && edit([&](TileCase& c) {
                            std::vector<ValueId>& nodes = c.program.blocks[b].nodes;
                            const ValueId loop = nodes[i];
                            std::erase_if(nodes, [&](ValueId id) {
                              const Node& node = c.program.node(id);
                              return id == loop || (node.op == OpCode::result && node.operands[0] == loop);
                            });
                          });
        changed = changed || gone;
        if (!gone) ++i;
      }
    return changed;
  }
  bool loops_go() {
    bool changed = false;
    for (std::size_t b = 0; b < case_.program.blocks.size(); ++b)
      for (std::size_t i = 0; b < case_.program.blocks.size() && i < case_.program.blocks[b].nodes.size(); ++i)
        if (case_.program.node(case_.program.blocks[b].nodes[i]).op == OpCode::loop)
          changed =
              edit([&](TileCase& c) { c.program = *without_loop(std::move(c.program), static_cast<BlockId>(b), i); }) ||
              changed;
    return changed;
  }
  bool nodes_go() {
    bool changed = false;
    for (ValueId id = static_cast<ValueId>(case_.program.nodes.size()) - 1; id >= 0; --id) {
      if (id >= static_cast<ValueId>(case_.program.nodes.size())) continue;
      const Node node = case_.program.node(id);
      if (node.op == OpCode::assemble || node.op == OpCode::loop || node.op == OpCode::carried ||
          node.op == OpCode::loop_variable || node.op == OpCode::top_k)
        continue;
      bool gone = false;
      for (const ValueId operand : node.operands)
        if (!gone && operand != kNone && case_.program.node(operand).type == node.type &&
            case_.program.node(operand).op != OpCode::loop)
          gone = edit([&](TileCase& c) { replace_uses(c.program, id, operand); });
      if (!gone && node.type.index && !node.operands.empty())
        gone = edit([&](TileCase& c) { c.program.node(id) = {.op = OpCode::index_constant, .type = node.type}; });
      if (!gone && !node.type.index && node.op != OpCode::constant)
        gone =
            edit([&](TileCase& c) { c.program.node(id) = {.op = OpCode::constant, .type = node.type, .number = 1}; });
      changed = changed || gone;
    }
    return changed;
  }
  bool arguments_shrink() {
    bool changed = false;
    for (std::size_t d = 0; d < case_.dims.size(); ++d)
      for (const std::int64_t smaller : {std::int64_t{0}, std::int64_t{1}, case_.dims[d] / 2, case_.dims[d] - 1})
        if (smaller >= 0 && smaller < case_.dims[d])
          changed = edit([&](TileCase& c) { c.dims[d] = smaller; }, false) || changed;
    for (std::size_t t = 0; t < case_.tensors.size(); ++t) {
      if (case_.tensors[t].padding > 0)
        changed = edit([&](TileCase& c) { c.tensors[t].padding = 0; }, false) || changed;
      const TileCase::Fill fill = case_.tensors[t].fill;
      if (fill == TileCase::Fill::edges || fill == TileCase::Fill::normal)
        changed = edit([&](TileCase& c) { c.tensors[t].fill = TileCase::Fill::grid; }, false) || changed;
    }
    return changed;
  }

  TileCase case_;
  const std::function<bool(const TileCase&)>& fails_;
  int left_;
};

}  // namespace

int live_nodes(const Program& program) {
  int count = 0;
  for (const Block& block : program.blocks) count += static_cast<int>(block.nodes.size());
  return count;
}

TileCase shrink(TileCase tile_case, const std::function<bool(const TileCase&)>& fails, int attempts) {
  return Shrinker(std::move(tile_case), fails, attempts).run();
}

}  // namespace tilewright::tile

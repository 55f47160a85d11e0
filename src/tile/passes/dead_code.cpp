#include "tile/passes/dead_code.h"

#include <map>

#include "tile/ir/printer.h"

namespace tilewright::tile {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Program& program) : program_(program), live_(program.nodes.size(), false) { find_loops(0); }

  void run() {
    mark_effects(0);
    while (!work_.empty()) {
      const ValueId id = work_.back();
      work_.pop_back();
      visit(id);
    }
    sweep(0);
    for (Node& node : program_.nodes) {
      if (node.op != OpCode::result) continue;
      const auto found = result_numbers_.find(node.operands[0]);
      if (found != result_numbers_.end()) node.integer = found->second[static_cast<std::size_t>(node.integer)];
    }
  }

 private:
  bool is_live(ValueId id) const { return live_[static_cast<std::size_t>(id)]; }
  void need(ValueId id) {
    if (id == kNone || is_live(id)) return;
    live_[static_cast<std::size_t>(id)] = true;
    work_.push_back(id);
  }

  void find_loops(BlockId block) {
    for (const ValueId id : program_.block(block).nodes)
      if (program_.node(id).op == OpCode::loop) {
        for (const ValueId argument : program_.block(program_.node(id).body).arguments) loop_of_[argument] = id;
        find_loops(program_.node(id).body);
      }
  }
  // Assembles and the loops around them.
  bool mark_effects(BlockId block) {
    bool effect = false;
    for (const ValueId id : program_.block(block).nodes) {
      const Node& node = program_.node(id);
      if (node.op == OpCode::assemble || (node.op == OpCode::loop && mark_effects(node.body))) {
        need(id);
        effect = true;
      }
    }
    return effect;
  }
  void visit(ValueId id) {
    const Node& node = program_.node(id);
    if (node.op == OpCode::loop) {
      for (const int i : {kLoopStart, kLoopStop, kLoopStep}) need(node.operands[static_cast<std::size_t>(i)]);
    } else if (node.op == OpCode::result && program_.node(node.operands[0]).op == OpCode::loop) {
      need(node.operands[0]);
      need_carried(node.operands[0], static_cast<std::size_t>(node.integer));
    } else if (node.op == OpCode::carried) {
      const ValueId loop = loop_of_.at(id);
      const std::vector<ValueId>& arguments = program_.block(program_.node(loop).body).arguments;
      for (std::size_t i = 1; i < arguments.size(); ++i)
        if (arguments[i] == id) need_carried(loop, i - 1);
    } else {
      for (const ValueId operand : node.operands) need(operand);
    }
  }
  void need_carried(ValueId loop, std::size_t i) {
    const Node& node = program_.node(loop);
    need(node.operands[kLoopInitial + i]);
    need(program_.block(node.body).arguments[1 + i]);
    need(program_.block(node.body).yields[i]);
  }

  void sweep(BlockId id) {
    Block& block = program_.block(id);
    std::erase_if(block.nodes, [&](ValueId node) { return !is_live(node); });
    for (const ValueId node : block.nodes)
      if (program_.node(node).op == OpCode::loop) result_numbers_[node] = sweep_loop(program_.node(node));
  }
  std::vector<std::int64_t> sweep_loop(Node& loop) {
    sweep(loop.body);
    Block& body = program_.block(loop.body);
    std::vector<std::int64_t> numbers;
    std::size_t kept = 0;
    for (std::size_t i = 0; i + 1 < body.arguments.size(); ++i) {
      numbers.push_back(static_cast<std::int64_t>(kept));
      if (!is_live(body.arguments[1 + i])) continue;
      body.arguments[1 + kept] = body.arguments[1 + i];
      body.yields[kept] = body.yields[i];
      loop.operands[kLoopInitial + kept] = loop.operands[kLoopInitial + i];
      ++kept;
    }
    body.arguments.resize(1 + kept);
    body.yields.resize(kept);
    loop.operands.resize(kLoopInitial + kept);
    return numbers;
  }

  Program& program_;
  std::vector<bool> live_;
  std::vector<ValueId> work_;
  std::map<ValueId, ValueId> loop_of_;                           // arguments of bodies
  std::map<ValueId, std::vector<std::int64_t>> result_numbers_;  // of a live loop, before to after
};

}  // namespace

Program dead_code(Program program) {
  DeadCode(program).run();
  return renumbered(program);
}

}  // namespace tilewright::tile

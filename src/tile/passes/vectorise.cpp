#include "tile/passes/vectorise.h"

#include <algorithm>
#include <map>
#include <set>

#include "tile/passes/iteration_space.h"

namespace tilewright::tile {
namespace {

struct NestWork {
  IterationSpace space;
  std::set<ValueId> nodes;
  bool reduces = false;
};

void collect(const Program& program, ValueId id, std::set<ValueId>& out) {
  for (const ValueId operand : tile_operands(program, id))
    if (!is_materialised(program, operand) && !is_single(program.node(operand).type) && out.insert(operand).second)
      collect(program, operand, out);
}

}  // namespace

Program vectorise(Program program, int lanes) {
  IterationSpaces spaces(program);
  std::map<int, NestWork> nests;
  for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id) {
    const Node& node = program.node(id);
    if (node.plan.nest == kNone) continue;
    NestWork& work = nests[node.plan.nest];
    if (node.op != OpCode::loop && node.op != OpCode::matmul) work.space = spaces.of_root(id);
    work.nodes.insert(id);
    work.reduces = work.reduces || is_reduction(node.op);
    if (node.op != OpCode::loop) collect(program, id, work.nodes);
  }
  for (Node& node : program.nodes) {
    if (node.plan.nest == kNone) continue;
    const NestWork& work = nests[node.plan.nest];
    int vector = lanes;
    while (vector > 1 && vector > work.space.columns) vector /= 2;
    const bool heavy = std::any_of(work.nodes.begin(), work.nodes.end(), [&](ValueId id) {
      return in_range(program.node(id).op, OpCode::exp, OpCode::gelu_tanh);
    });
    // Sums wait for the sum before: four at a time. Long chains fill the processor's window by themselves, and four of
    // them do not fit the sixteen registers of eight lanes.
    const bool few_registers = lanes == 8;
    const bool two = heavy ? !work.reduces || few_registers : work.nodes.size() > 16 && !work.reduces;
    node.plan.vector = vector;
    node.plan.unroll = vector == 1 ? 1 : two ? 2 : 4;
  }
  return program;
}

}  // namespace tilewright::tile

#include "tile/random/planted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"

namespace tilewright::tile {
namespace {

// Appends a node right before (or, for its own value, after) node `at` in its block.
ValueId insert(Program& program, ValueId at, bool after, Node node) {
  const auto id = static_cast<ValueId>(program.nodes.size());
  program.nodes.push_back(std::move(node));
  for (Block& block : program.blocks)
    if (const auto place = std::find(block.nodes.begin(), block.nodes.end(), at); place != block.nodes.end()) {
      block.nodes.insert(place + (after ? 1 : 0), id);
      break;
    }
  return id;
}

void replace_uses(Program& program, ValueId from, ValueId to, ValueId except) {
  for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id)
    if (id != except)
      for (ValueId& operand : program.node(id).operands)
        if (operand == from) operand = to;
  for (Block& block : program.blocks)
    for (ValueId& yield : block.yields)
      if (yield == from) yield = to;
}

// Calls `change` for each node there is, not for those it adds.
template <typename Change>
Program changed(const Program& program, const Change& change) {
  Program out = program;
  for (ValueId id = 0; id < static_cast<ValueId>(program.nodes.size()); ++id) change(out, id, program.node(id));
  return out;
}

// The last column of a partial write is lost.
Program wrong_tail_mask(const Program& program) {
  return changed(program, [](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::assemble || valid_operand(node, 1) == kNone) return;
    const ValueId one = insert(p, id, false, {.op = OpCode::index_constant, .type = {.index = true}, .integer = 1});
    const ValueId less = insert(
        p, id, false, {.op = OpCode::index_sub, .type = {.index = true}, .operands = {valid_operand(node, 1), one}});
    p.node(id).operands.back() = less;
  });
}

// A rounding to 16 bits and back is taken for nothing.
Program dropped_cast(const Program& program) {
  return changed(program, [&](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::cast || node.type.dtype != DType::f32) return;
    const Node& inner = program.node(node.operands[0]);
    if (inner.op == OpCode::cast && program.node(inner.operands[0]).type.dtype == DType::f32)
      replace_uses(p, id, inner.operands[0], kNone);
  });
}

Program swapped_operands(const Program& program) {
  return changed(program, [](Program& p, ValueId id, const Node& node) {
    if (node.op == OpCode::sub || node.op == OpCode::div) std::swap(p.node(id).operands[0], p.node(id).operands[1]);
  });
}

// A loop's body sees the first value of a carried tile in every iteration.
Program stale_accumulator(const Program& program) {
  return changed(program, [&](Program& p, ValueId, const Node& node) {
    if (node.op != OpCode::loop || node.operands.size() <= kLoopInitial) return;
    const std::vector<ValueId>& arguments = p.block(node.body).arguments;
    for (std::size_t i = 1; i < arguments.size(); ++i)
      replace_uses(p, arguments[i], node.operands[kLoopInitial + i - 1], kNone);
  });
}

// A column that is spread over columns: its first row everywhere.
Program wrong_broadcast(const Program& program) {
  return changed(program, [&](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::broadcast) return;
    const Type& from = program.node(node.operands[0]).type;
    if (from.rows.one() || !from.columns.one()) return;
    p.node(id).operands[0] =
        insert(p, id, false, {.op = OpCode::slice, .type = {.dtype = from.dtype}, .operands = {node.operands[0]}});
  });
}

Program skipped_last_step(const Program& program) {
  return changed(program, [](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::loop || node.parallel || node.operands.size() <= kLoopInitial) return;
    p.node(id).operands[kLoopStop] =
        insert(p, id, false,
               {.op = OpCode::index_sub, .type = {.index = true}, .operands = {node.operands[1], node.operands[2]}});
  });
}

// A maximum that begins at 0.
Program reduction_seed(const Program& program) {
  return changed(program, [](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::reduce_max) return;
    const ValueId zero = insert(p, id, true, {.op = OpCode::constant, .type = node.type});
    const ValueId wrong = insert(p, zero, true, {.op = OpCode::maximum, .type = node.type, .operands = {id, zero}});
    replace_uses(p, id, wrong, wrong);
  });
}

// A mean divided by the tile's extent instead of the valid one.
Program mean_divisor(const Program& program) {
  return changed(program, [&](Program& p, ValueId id, const Node& node) {
    if (node.op != OpCode::reduce_mean) return;
    const Type& from = program.node(node.operands[0]).type;
    const auto extent = static_cast<double>(program.size(node.axis == 0 ? from.rows : from.columns));
    p.node(id).op = OpCode::reduce_sum;
    const ValueId divisor = insert(p, id, true, {.op = OpCode::constant, .type = node.type, .number = extent});
    const ValueId wrong = insert(p, divisor, true, {.op = OpCode::div, .type = node.type, .operands = {id, divisor}});
    replace_uses(p, id, wrong, wrong);
  });
}

// `where` takes the other arm.
Program missing_rescale(const Program& program) {
  return changed(program, [](Program& p, ValueId id, const Node& node) {
    if (node.op == OpCode::where) std::swap(p.node(id).operands[1], p.node(id).operands[2]);
  });
}

// Rows of inputs are taken to follow one another without padding.
void wrong_row_stride(const TileCase& tile_case, const Program& program, const CaseMemory& memory) {
  Arguments arguments = memory.arguments();
  for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
    TensorArgument& tensor = arguments.tensors[i];
    if (program.tensors[i].access == Access::write || tensor.shape.size() != 2) continue;
    for (std::int64_t& stride : tensor.strides)
      if (stride != 1) stride -= tile_case.tensors[i].padding;
  }
  interpret(program, arguments);
}

const std::map<std::string, Program (*)(const Program&)>& changes() {
  static const std::map<std::string, Program (*)(const Program&)> all = {
      {"wrong_tail_mask", wrong_tail_mask},   {"dropped_cast", dropped_cast},
      {"swapped_operands", swapped_operands}, {"stale_accumulator", stale_accumulator},
      {"wrong_broadcast", wrong_broadcast},   {"skipped_last_step", skipped_last_step},
      {"reduction_seed", reduction_seed},     {"mean_divisor", mean_divisor},
      {"missing_rescale", missing_rescale},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& planted_faults() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"wrong_row_stride"};
    for (const auto& [name, change] : changes()) all.push_back(name);
    return all;
  }();
  return names;
}

Subject with_planted_fault(const std::string& name) {
  if (name == "wrong_row_stride") return wrong_row_stride;
  const auto found = changes().find(name);
  if (found == changes().end())
    fail({.what = "no planted fault has that name",
          .expected = fmt::format("{}", fmt::join(planted_faults(), ", ")),
          .found = name,
          .fix = "use one of them"});
  return interpreted(found->second);
}

}  // namespace tilewright::tile

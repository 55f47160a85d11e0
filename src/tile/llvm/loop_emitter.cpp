// Loops inside a block, and where the tiles lie that they carry.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "tile/llvm/program_emitter.h"

namespace tilewright::tile::llvm_back_end {

// Who reads each materialised tile, through tiles that are recomputed.
void ProgramEmitter::count_readers() {
  std::set<ValueId> seen;
  const auto visit = [&](auto&& self, ValueId id, int reader) -> void {
    if (!seen.insert(id).second) return;
    if (is_materialised(program_, id)) {
      readers_[id].insert(reader);
      return;
    }
    for (const ValueId operand : tile_operands(program_, id)) self(self, operand, reader);
  };
  for (ValueId id = 0; id < static_cast<ValueId>(program_.nodes.size()); ++id) {
    const Node& node = program_.node(id);
    if (home_[static_cast<std::size_t>(id)] == kNone || node.plan.nest == kNone) continue;
    seen.clear();
    for (const ValueId operand : tile_operands(program_, id)) visit(visit, operand, node.plan.nest);
    seen.clear();
    if (node.op == OpCode::loop)
      for (const ValueId next : program_.block(node.body).yields) visit(visit, next, -1 - id);
  }
}

// Whether `root` reads `carried` at the element that it computes only, through the operands `from`, and through no
// other operand.
bool ProgramEmitter::reads_in_place(ValueId root, ValueId carried, const std::vector<ValueId>& from) const {
  std::set<std::pair<ValueId, bool>> seen;
  const auto reads = [&](auto&& self, ValueId id, bool here) -> bool {  // true: somewhere else
    if (id == carried) return !here;
    if (is_materialised(program_, id) || !seen.insert({id, here}).second) return false;
    const bool keeps = here && keeps_position(program_.node(id).op);
    for (const ValueId operand : tile_operands(program_, id))
      if (self(self, operand, keeps)) return true;
    return false;
  };
  for (const ValueId operand : tile_operands(program_, root)) {
    const bool here = std::find(from.begin(), from.end(), operand) != from.end();
    if (reads(reads, operand, here)) return false;
  }
  return true;
}

// Whether the node that computes the next value of a carried tile may write it where the carried tile lies: everything
// that reads the old value comes first, or reads it at the same element.
bool ProgramEmitter::may_overwrite(ValueId loop, std::size_t carried, ValueId next) {
  const Node& node = program_.node(next);
  const Block& body = program_.block(program_.node(loop).body);
  const ValueId old = body.arguments[1 + carried];
  if (home_[static_cast<std::size_t>(next)] != program_.node(loop).body) return false;
  if (!node.plan.stored && node.op != OpCode::matmul) return false;
  if (std::count(body.yields.begin(), body.yields.end(), next) != 1) return false;
  for (const int reader : readers_[old]) {
    if (reader < 0) return false;
    // The reader, or the loop around it, in the body itself.
    ValueId at = nest_member_.at(reader);
    while (home_[static_cast<std::size_t>(at)] != program_.node(loop).body) {
      at = owner_[static_cast<std::size_t>(home_[static_cast<std::size_t>(at)])];
      if (at == kNone) return false;
    }
    const int when = program_.node(at).plan.nest;
    if (when > node.plan.nest) return false;
    if (when < node.plan.nest) continue;
    if (node.op == OpCode::matmul) {
      if (node.operands.size() < 3 || node.operands[2] == kNone || node.operands[0] == node.operands[2] ||
          node.operands[1] == node.operands[2] || !reads_in_place(next, old, {node.operands[2]}))
        return false;
    } else {
      for (const ValueId id : body.nodes)
        if (program_.node(id).plan.nest == when &&
            !(keeps_position(program_.node(id).op) || is_reduction(program_.node(id).op)
                  ? reads_in_place(id, old, tile_operands(program_, id))
                  : reads_in_place(id, old, {})))
          return false;
    }
  }
  return true;
}

void ProgramEmitter::emit_loop(ValueId id) {
  const Node& node = program_.node(id);
  const Block& body = program_.block(node.body);
  const std::size_t count = body.yields.size();
  Results& results = results_[id];
  results.memory.assign(count, {});
  results.single.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const ValueId initial = node.operands[kLoopInitial + i];
    const ValueId carried = body.arguments[1 + i];
    const Type& type = program_.node(carried).type;
    if (is_single(type)) {
      results.single[i] =
          e_.variable(e_.element(type.dtype),
                      fault("stale_accumulator") && type.dtype == DType::f32 ? e_.real(1) : value(initial, {}));
      registers_[carried] = results.single[i];
      continue;
    }
    Memory memory = allocate(type, false, layout_of(body.yields[i]));
    if (!(fault("stale_accumulator") && type.dtype == DType::f32)) {
      copy_tile(initial, memory);
    } else {
      // The planted fault: what the accumulator begins with is not what was asked for.
      e_.loop("stale", e_.number(0), e_.number(size(type.rows) * memory.row_stride), 1,
              [&](Value* at) { e_.store(DType::f32, e_.real(1), e_.at(memory.base, at, DType::f32), {}); });
    }
    results.memory[i] = memory;
    memory_[carried] = memory;
  }
  LoopRange range{nullptr, index(node.operands[kLoopStart]), index(node.operands[kLoopStop]),
                  e_.smax(index(node.operands[kLoopStep]), e_.number(1))};
  Value* stop = fault("skipped_last_step") && !node.parallel ? b_.CreateSub(range.stop, range.step) : range.stop;
  for (std::size_t i = 0; i < count; ++i)
    if (results.memory[i].base != nullptr && may_overwrite(id, i, body.yields[i])) {
      destinations_[body.yields[i]] = results.memory[i];
      overwritten_[body.yields[i]] = body.arguments[1 + i];
    }
  e_.loop(body.variable.empty() ? "loop" : body.variable, range.start, stop, range.step, [&](Value* variable) {
    range.variable = variable;
    ranges_[body.arguments[0]] = range;
    indices_[static_cast<std::size_t>(body.arguments[0])] = variable;
    scopes_.emplace_back();
    emit_block(node.body);
    emit_carried_next(id, results_[id].single, results_[id].memory);
    scopes_.pop_back();
  });
}

// All next values are there before the first is written.
void ProgramEmitter::emit_carried_next(ValueId loop, const std::vector<Variable>& single,
                                       const std::vector<Memory>& memory) {
  const Block& body = program_.block(program_.node(loop).body);
  std::vector<Value*> next(body.yields.size(), nullptr);
  std::vector<Memory> from(body.yields.size());
  for (std::size_t i = 0; i < body.yields.size(); ++i) {
    const ValueId id = body.yields[i];
    if (memory[i].base == nullptr) {
      next[i] = value(id, {});
    } else if (id != body.arguments[1 + i] && destinations_.count(id) == 0) {
      const bool owned = program_.node(id).plan.stored || program_.node(id).op == OpCode::matmul ||
                         program_.node(id).op == OpCode::result || is_reduction(program_.node(id).op);
      if (owned && memory_of(id) != nullptr && home_[static_cast<std::size_t>(id)] == program_.node(loop).body)
        continue;
      from[i] = allocate(program_.node(id).type);
      copy_tile(id, from[i]);
    }
  }
  for (std::size_t i = 0; i < body.yields.size(); ++i) {
    const ValueId id = body.yields[i];
    if (next[i] != nullptr) {
      e_.set(single[i], next[i]);
    } else if (id != body.arguments[1 + i] && destinations_.count(id) == 0) {
      if (from[i].base == nullptr) {
        copy_tile(id, memory[i]);
      } else {
        const Memory to = memory[i];
        const Memory source = from[i];
        const auto saved = memory_.find(id) == memory_.end() ? Memory{} : memory_.at(id);
        const bool had = memory_.find(id) != memory_.end();
        memory_[id] = source;
        copy_tile(id, to);
        if (had)
          memory_[id] = saved;
        else
          memory_.erase(id);
      }
    }
  }
}

}  // namespace tilewright::tile::llvm_back_end

// One loop over columns as unrolled vectors, single vectors and a tail, split where concatenated parts meet.
#include <llvm/IR/Constants.h>

#include "tile/llvm/program_emitter.h"

namespace tilewright::tile::llvm_back_end {

// Where along `axis` of tile `id` loops must be split; `shift` is added.
void ProgramEmitter::add_borders(ValueId id, int axis, std::int64_t shift, std::set<std::int64_t>& out,
                                 std::set<std::pair<ValueId, std::int64_t>>& seen) const {
  if (!seen.insert({id * 2 + axis, shift}).second) return;
  const Node& node = program_.node(id);
  if (memory_of(id) != nullptr && !node.plan.stored) return;
  if (node.op == OpCode::view) return;
  if (node.op == OpCode::reshape) {  // one that changes nothing is computed where it is used
    const Type& from = program_.node(node.operands[0]).type;
    if (!(from.rows == node.type.rows && from.columns == node.type.columns)) return;
  }
  if (node.op == OpCode::gather) {
    if (axis == 0) add_borders(node.operands[0], 0, shift, out, seen);
    return;
  }
  std::int64_t start = 0;
  for (const ValueId operand : tile_operands(program_, id)) {
    const Node& from = program_.node(operand);
    if (node.op != OpCode::concat && is_materialised(program_, operand)) continue;
    if (node.op == OpCode::concat && node.axis == axis) {
      add_borders(operand, axis, shift + start, out, seen);
      start += size(axis == 0 ? from.type.rows : from.type.columns);
      out.insert(shift + start);
    } else if (node.op == OpCode::slice) {
      add_borders(operand, axis, shift - (axis == 0 ? node.integer : node.integer2), out, seen);
    } else if (node.op == OpCode::transpose) {
      add_borders(operand, 1 - axis, shift, out, seen);
    } else if (!(node.op == OpCode::broadcast && (axis == 0 ? from.type.rows : from.type.columns).one())) {
      add_borders(operand, axis, shift, out, seen);
    }
  }
}

// 0, the borders in between, extent.
std::vector<std::int64_t> ProgramEmitter::borders(const std::vector<Root>& roots, int axis, std::int64_t extent) const {
  std::set<std::int64_t> all;
  std::set<std::pair<ValueId, std::int64_t>> seen;
  for (const Root& root : roots) {
    const OpCode op = program_.node(root.tile).op;
    const bool outer = root.copy_to != nullptr || (op != OpCode::assemble && !is_reduction(op));
    add_borders(outer ? root.tile : program_.node(root.tile).operands[0], axis, 0, all, seen);
  }
  std::vector<std::int64_t> out{0};
  for (const std::int64_t border : all)
    if (border > 0 && border < extent) out.push_back(border);
  out.push_back(extent);
  return out;
}

void ProgramEmitter::sweep(std::int64_t low, std::int64_t high, Value* end, int vector, int unroll, Value* streams,
                           const std::function<void(const std::vector<std::pair<Value*, Lanes>>&)>& step) {
  const auto full = [&](Value* column, int count, bool streaming = false) {
    std::vector<std::pair<Value*, Lanes>> points;
    for (int i = 0; i < count; ++i)
      points.emplace_back(i == 0 ? column : b_.CreateNSWAdd(column, e_.number(i * vector)),
                          Lanes{.width = vector, .streaming = streaming});
    scopes_.emplace_back();
    step(points);
    scopes_.pop_back();
  };
  const bool known = llvm::isa<llvm::ConstantInt>(end);
  const std::int64_t length = known ? llvm::cast<llvm::ConstantInt>(end)->getSExtValue() - low : high - low;
  if (length <= 0) return;
  Value* at = e_.number(low);
  const auto advance = [&](int count) {
    if (count * vector > high - low) return;
    // The last start of a whole step lies at end - step.
    Value* stop = b_.CreateSub(end, e_.number(count * vector - 1));
    if (count > 1 && streams != nullptr) {  // all of these steps or none
      Value* last = b_.CreateSelect(streams, stop, at);
      e_.loop("stream", at, last, count * vector, [&](Value* column) { full(column, count, true); });
      Value* room = e_.smax(b_.CreateSub(end, at), e_.number(0));
      Value* steps = b_.CreateUDiv(room, e_.number(count * vector));
      Value* after = b_.CreateAdd(at, b_.CreateMul(steps, e_.number(count * vector)));
      at = b_.CreateSelect(streams, after, at);
    }
    Value* begin = at;
    e_.loop(count > 1 ? "main" : "vector", begin, stop, count * vector, [&](Value* column) { full(column, count); });
    Value* room = e_.smax(b_.CreateSub(end, begin), e_.number(0));
    Value* steps = b_.CreateUDiv(room, e_.number(count * vector));
    at = b_.CreateAdd(begin, b_.CreateMul(steps, e_.number(count * vector)));
  };
  if (known && length <= 8 * vector && length >= vector) {  // short: no loop
    const int count = static_cast<int>(length / vector);
    full(at, count);
    at = e_.number(low + count * vector);
  } else {
    if (unroll > 1) advance(unroll);
    advance(1);
  }
  if (vector == 1) return;
  const auto scalar = [&](Value* from, Value* to) {
    e_.loop("tail", from, to, 1, [&](Value* column) {
      scopes_.emplace_back();
      step({{column, Lanes{}}});
      scopes_.pop_back();
    });
  };
  if (!e_.level.masks) {
    scalar(at, fault("wrong_tail_mask") ? b_.CreateSub(end, e_.number(1)) : end);
    return;
  }
  e_.when(b_.CreateICmpSLT(at, end), [&] {
    Value* count = b_.CreateSub(end, at);
    std::vector<std::uint32_t> counting;
    for (int lane = 0; lane < vector; ++lane)
      counting.push_back(static_cast<std::uint32_t>(lane + (fault("wrong_tail_mask") ? 1 : 0)));
    Value* mask =
        b_.CreateICmpULT(llvm::ConstantDataVector::get(b_.getContext(), counting),
                         b_.CreateVectorSplat(static_cast<unsigned>(vector), b_.CreateTrunc(count, b_.getInt32Ty())));
    scopes_.emplace_back();
    step({{at, Lanes{vector, mask, count}}});
    scopes_.pop_back();
  });
}

}  // namespace tilewright::tile::llvm_back_end

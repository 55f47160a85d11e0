// Elements of tiles, computed where they are asked for.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "base/error.h"
#include "tile/llvm/math.h"
#include "tile/llvm/program_emitter.h"

namespace tilewright::tile::llvm_back_end {

// A tile of one row (column) has the same element for every row (column) that is asked for.
Point ProgramEmitter::normal(ValueId id, Point point) const {
  const Type& type = program_.node(id).type;
  if (type.rows.one()) {
    point.row = nullptr;
    point.row_low = 0;
    point.row_high = 1;
    if (point.down) point.lanes = {};
  }
  if (type.columns.one()) {
    point.column = nullptr;
    point.column_low = 0;
    point.column_high = 1;
    if (!point.down) point.lanes = {};
  }
  if (point.lanes.width == 1) point.down = false;
  return point;
}

llvm::Value* ProgramEmitter::remembered(ValueId id, const Point& point) const {
  const auto key = std::make_tuple(id, point.row, point.column, point.down ? -point.lanes.width : point.lanes.width);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(key); found != scope->end()) return found->second;
  return nullptr;
}

const ProgramEmitter::Memory* ProgramEmitter::memory_of(ValueId id) const {
  const Node& node = program_.node(id);
  if (node.op == OpCode::result) {
    const auto found = results_.find(node.operands[0]);
    if (found == results_.end()) return nullptr;
    const auto i = static_cast<std::size_t>(node.integer);
    return i < found->second.memory.size() && found->second.memory[i].base != nullptr ? &found->second.memory[i]
                                                                                      : nullptr;
  }
  const auto found = memory_.find(id);
  return found == memory_.end() ? nullptr : &found->second;
}

const Variable* ProgramEmitter::register_of(ValueId id) const {
  const Node& node = program_.node(id);
  if (node.op == OpCode::result) {
    const auto found = results_.find(node.operands[0]);
    if (found == results_.end()) return nullptr;
    const auto i = static_cast<std::size_t>(node.integer);
    return i < found->second.single.size() && found->second.single[i].place != nullptr ? &found->second.single[i]
                                                                                       : nullptr;
  }
  const auto found = registers_.find(id);
  return found == registers_.end() ? nullptr : &found->second;
}

llvm::Value* ProgramEmitter::value(ValueId id, const Point& asked) {
  const Point point = normal(id, asked);
  if (Value* known = remembered(id, point)) return known;
  Value* out = nullptr;
  if (const Variable* variable = register_of(id))
    out = e_.get(*variable);
  else if (const Memory* memory = memory_of(id))
    out = of_memory(*memory, point);
  else
    out = compute(id, point);
  remember(id, point, out);
  return out;
}

llvm::Value* ProgramEmitter::shifted(Value* position, std::int64_t by) {
  return by == 0 ? position : b_.CreateNSWAdd(or_zero(position), e_.number(by));
}

llvm::Value* ProgramEmitter::strided(Value* base, Value* row_stride, DType dtype, const Point& point, bool constant) {
  Value* elements = point.column;
  if (point.row != nullptr) {
    Value* row = b_.CreateNSWMul(point.row, row_stride);
    elements = elements == nullptr ? row : b_.CreateNSWAdd(row, elements);
  }
  Value* address = elements == nullptr ? base : e_.at(base, elements, dtype);
  return point.down ? e_.load_strided(dtype, address, row_stride, point.lanes, constant)
                    : e_.load(dtype, address, point.lanes, constant);
}

llvm::Value* ProgramEmitter::of_memory(const Memory& memory, const Point& point) {
  Point own = point;
  if (memory.single_row) own.row = nullptr;
  std::int64_t stride = memory.row_stride;
  if (fault("wrong_row_stride") && stride > 1 && !memory.single_row) stride /= 2;
  return strided(memory.base, e_.number(stride), memory.dtype, own, false);
}

llvm::Value* ProgramEmitter::of_view(ValueId id, const Point& point) {
  const Node& node = program_.node(id);
  Value* stride = node.row_dim == kNone
                      ? e_.number(0)
                      : strides_[static_cast<std::size_t>(node.tensor)][static_cast<std::size_t>(node.row_dim)];
  return strided(bases_[static_cast<std::size_t>(id)], stride, node.type.dtype, point, true);
}

llvm::Value* ProgramEmitter::of_gather(ValueId id, const Point& point) {
  const Node& node = program_.node(id);
  const DType dtype = node.type.dtype;
  if (point.down && point.lanes.width > 1) {
    Value* out = llvm::PoisonValue::get(e_.type(dtype, point.lanes.width));
    for (int lane = 0; lane < point.lanes.width; ++lane) {
      Point one = point;
      one.down = false;
      one.lanes = {};
      Value* by = e_.number(lane);
      if (point.lanes.mask != nullptr) by = e_.smin(by, b_.CreateSub(point.lanes.count, e_.number(1)));
      one.row = b_.CreateAdd(or_zero(point.row), by);
      out = b_.CreateInsertElement(out, of_gather(id, one), static_cast<std::uint64_t>(lane));
    }
    return out;
  }
  Point row = point;
  row.column = nullptr;
  row.lanes = {};
  row.down = false;
  Value* number = b_.CreateSExt(value(node.operands[0], row), b_.getInt64Ty());
  const auto dim = static_cast<std::size_t>(node.row_dim == kNone ? 0 : node.row_dim);
  const TensorDim& extent = program_.tensor(node.tensor).shape[dim];
  Value* rows = extent.symbol == kNone ? e_.number(extent.size) : dims_[static_cast<std::size_t>(extent.symbol)];
  Value* inside = b_.CreateAnd(b_.CreateICmpSGE(number, e_.number(0)), b_.CreateICmpSLT(number, rows));
  Value* elements = b_.CreateMul(number, strides_[static_cast<std::size_t>(node.tensor)][dim]);
  if (point.column != nullptr) elements = b_.CreateAdd(elements, point.column);
  // Rows outside are read from a vector of zeros.
  llvm::Type* type = llvm::ArrayType::get(b_.getInt8Ty(), 128);
  llvm::GlobalVariable* zeros = e_.module.getNamedGlobal("zeros");
  if (zeros == nullptr) {
    zeros = new llvm::GlobalVariable(e_.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                     llvm::Constant::getNullValue(type), "zeros");
    zeros->setAlignment(llvm::Align(64));
  }
  Value* address = b_.CreateSelect(inside, e_.at(bases_[static_cast<std::size_t>(id)], elements, dtype), zeros);
  return e_.load(dtype, address, point.lanes, true);
}

llvm::Value* ProgramEmitter::of_iota(const Node& node, const Point& point) {
  Value* position = node.axis == 0 ? or_zero(point.row) : or_zero(point.column);
  Value* first = b_.CreateTrunc(b_.CreateAdd(index(node.operands[0]), position), b_.getInt32Ty());
  const int width = point.lanes.width;
  Value* out = e_.splat(first, width);
  if (width == 1 || point.down != (node.axis == 0)) return out;
  std::vector<std::uint32_t> counting;
  for (int lane = 0; lane < width; ++lane) counting.push_back(static_cast<std::uint32_t>(lane));
  return b_.CreateAdd(out, llvm::ConstantDataVector::get(b_.getContext(), counting));
}

llvm::Value* ProgramEmitter::of_concat(const Node& node, const Point& point) {
  std::int64_t start = 0;
  for (const ValueId part : node.operands) {
    const Type& type = program_.node(part).type;
    const std::int64_t extent = size(node.axis == 0 ? type.rows : type.columns);
    Point inner = point;
    std::int64_t& low = node.axis == 0 ? inner.row_low : inner.column_low;
    std::int64_t& high = node.axis == 0 ? inner.row_high : inner.column_high;
    if (low >= start && high <= start + extent) {
      low -= start;
      high -= start;
      Value*& position = node.axis == 0 ? inner.row : inner.column;
      position = shifted(position, -start);
      Value* out = value(part, inner);  // a part of one column (row) has one element
      return Emitter::width_of(out) == point.lanes.width ? out : e_.splat(out, point.lanes.width);
    }
    start += extent;
  }
  fail({.what = "a part of a concatenated tile crosses the border of two parts",
        .where = "tile compiler, program " + program_.name,
        .expected = "loops split at the borders",
        .found = std::to_string(point.column_low) + " … " + std::to_string(point.column_high),
        .fix = "report this program"});
}

llvm::Value* ProgramEmitter::of_reshape(const Node& node, const Point& point) {
  const ValueId from = node.operands[0];
  const Type& type = program_.node(from).type;
  if (type.rows == node.type.rows && type.columns == node.type.columns) return value(from, point);
  const std::int64_t columns = size(node.type.columns);
  const Memory* memory = memory_of(from);
  if (const Variable* single = register_of(from); single != nullptr) return e_.get(*single);
  if (memory == nullptr)
    return strided(bases_[static_cast<std::size_t>(from)], e_.number(columns), type.dtype, point, true);
  const std::int64_t old_columns = size(type.columns);
  if (type.rows.one() || memory->row_stride == old_columns) {
    Memory dense = *memory;
    dense.row_stride = columns;
    return strided(dense.base, e_.number(columns), dense.dtype, point, false);
  }
  // Rows with gaps: element by element.
  Value* flat = b_.CreateAdd(b_.CreateMul(or_zero(point.row), e_.number(columns)), or_zero(point.column));
  Value* out = llvm::PoisonValue::get(e_.type(type.dtype, point.lanes.width));
  for (int lane = 0; lane < point.lanes.width; ++lane) {
    Value* by = e_.number(lane);
    if (point.lanes.mask != nullptr) by = e_.smin(by, b_.CreateSub(point.lanes.count, e_.number(1)));
    Value* here = b_.CreateAdd(flat, b_.CreateMul(by, e_.number(point.down ? columns : 1)));
    Value* elements =
        b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(here, e_.number(old_columns)), e_.number(memory->row_stride)),
                     b_.CreateURem(here, e_.number(old_columns)));
    Value* one = e_.load(type.dtype, e_.at(memory->base, elements, type.dtype), {}, false);
    if (point.lanes.width == 1) return one;
    out = b_.CreateInsertElement(out, one, static_cast<std::uint64_t>(lane));
  }
  return out;
}

llvm::Value* ProgramEmitter::compute_two(OpCode op, DType dtype, Value* a, Value* b) {
  const bool real = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  if (fault("swapped_operands") && (op == OpCode::sub || op == OpCode::lt)) std::swap(a, b);
  if (is_comparison(op) && real && dtype != DType::f32) {
    a = e_.cast(a, dtype, DType::f32);
    b = e_.cast(b, dtype, DType::f32);
  }
  switch (op) {
    case OpCode::add:
      return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case OpCode::sub:
      return real ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case OpCode::mul:
      return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case OpCode::div:
      return b_.CreateFDiv(a, b);
    case OpCode::minimum:
      return emit_minimum(e_, a, b);
    case OpCode::maximum:
      return emit_maximum(e_, a, b);
    case OpCode::eq:
      return real ? b_.CreateFCmpOEQ(a, b) : b_.CreateICmpEQ(a, b);
    case OpCode::ne:
      return real ? b_.CreateFCmpUNE(a, b) : b_.CreateICmpNE(a, b);
    case OpCode::lt:
      return real ? b_.CreateFCmpOLT(a, b) : b_.CreateICmpSLT(a, b);
    case OpCode::le:
      return real ? b_.CreateFCmpOLE(a, b) : b_.CreateICmpSLE(a, b);
    case OpCode::gt:
      return real ? b_.CreateFCmpOGT(a, b) : b_.CreateICmpSGT(a, b);
    case OpCode::ge:
      return real ? b_.CreateFCmpOGE(a, b) : b_.CreateICmpSGE(a, b);
    case OpCode::logical_and:
      return b_.CreateAnd(a, b);
    default:
      return b_.CreateOr(a, b);
  }
}

// Whether the tile is another one less the maximum of each of its rows.
bool ProgramEmitter::below_maximum(ValueId id) const {
  const Node& difference = program_.node(id);
  if (difference.op != OpCode::sub || difference.type.dtype != DType::f32) return false;
  const Node& spread = program_.node(difference.operands[1]);
  const Node& maximum = spread.op == OpCode::broadcast ? program_.node(spread.operands[0]) : spread;
  return maximum.op == OpCode::reduce_max && maximum.axis == 1 && maximum.operands[0] == difference.operands[0];
}

llvm::Value* ProgramEmitter::compute(ValueId id, const Point& point) {
  const Node& node = program_.node(id);
  const auto operand = [&](std::size_t i) { return value(node.operands[i], point); };
  const DType dtype = node.type.dtype;
  const int width = point.lanes.width;
  if (is_binary(node.op))
    return compute_two(node.op, program_.node(node.operands[0]).type.dtype, operand(0), operand(1));
  switch (node.op) {
    case OpCode::constant: {
      if (dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8 || dtype == DType::b8)
        return e_.splat(llvm::ConstantInt::getSigned(e_.element(dtype), static_cast<std::int64_t>(node.number)), width);
      return e_.cast(e_.real(node.number, width), DType::f32, dtype);
    }
    case OpCode::scalar:
      return e_.splat(scalars_[static_cast<std::size_t>(node.integer)], width);
    case OpCode::from_index:
      return e_.splat(b_.CreateTrunc(index(node.operands[0]), b_.getInt32Ty()), width);
    case OpCode::iota:
      return of_iota(node, point);
    case OpCode::view:
      return of_view(id, point);
    case OpCode::gather:
      return of_gather(id, point);
    case OpCode::logical_not:
      return b_.CreateNot(operand(0));
    case OpCode::cast: {
      const DType from = program_.node(node.operands[0]).type.dtype;
      if (fault("dropped_cast") && from == DType::f32 && dtype == DType::bf16) {  // cut off instead of rounded
        Value* bits = b_.CreateBitCast(operand(0), e_.type(DType::i32, width));
        return b_.CreateTrunc(b_.CreateLShr(bits, e_.whole(16, width)), e_.type(DType::bf16, width));
      }
      return e_.cast(operand(0), from, dtype);
    }
    case OpCode::where: {
      Value* condition = operand(0);
      Value* a = operand(1);
      Value* b = operand(2);
      return fault("missing_rescale") ? b_.CreateSelect(condition, b, a) : b_.CreateSelect(condition, a, b);
    }
    case OpCode::broadcast: {
      Point from = point;
      if (fault("wrong_broadcast") && from.row != nullptr && !program_.node(node.operands[0]).type.rows.one()) {
        from.row = nullptr;
        from.row_low = 0;
        from.row_high = 1;
      }
      Value* out = value(node.operands[0], from);
      return Emitter::width_of(out) == width ? out : e_.splat(out, width);
    }
    case OpCode::slice: {
      Point from = point;
      from.row = shifted(point.row, node.integer);
      from.row_low += node.integer;
      from.row_high += node.integer;
      from.column = shifted(point.column, node.integer2);
      from.column_low += node.integer2;
      from.column_high += node.integer2;
      return value(node.operands[0], from);
    }
    case OpCode::concat:
      return of_concat(node, point);
    case OpCode::transpose: {
      Point from = point;
      std::swap(from.row, from.column);
      std::swap(from.row_low, from.column_low);
      std::swap(from.row_high, from.column_high);
      from.down = !point.down;
      Value* out = value(node.operands[0], from);
      return Emitter::width_of(out) == width ? out : e_.splat(out, width);
    }
    case OpCode::reshape:
      return of_reshape(node, point);
    case OpCode::restrict:
      return operand(0);
    case OpCode::is_first: {
      const LoopRange& range = ranges_.at(node.operands[0]);
      return b_.CreateICmpEQ(range.variable, range.start);
    }
    case OpCode::is_last: {
      const LoopRange& range = ranges_.at(node.operands[0]);
      return b_.CreateICmpSGE(b_.CreateAdd(range.variable, range.step), range.stop);
    }
    default:
      if (node.op == OpCode::exp && below_maximum(node.operands[0])) return emit_exponential_to_one(e_, operand(0));
      if (is_unary(node.op)) return emit_unary(e_, node.op, operand(0));
      fail({.what = "a tile is read before it is computed",
            .where = "tile compiler, program " + program_.name,
            .expected = "a plan that computes it first",
            .found = std::string(opcode_name(node.op)) + " %" + std::to_string(id),
            .fix = "run the passes fuse and vectorise, in this order, on the program"});
  }
}

}  // namespace tilewright::tile::llvm_back_end

#include "tile/llvm/program_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace tilewright::tile::llvm_back_end {

ProgramEmitter::ProgramEmitter(const Program& program, Emitter& emitter, std::string fault)
    : program_(program), e_(emitter), b_(emitter.builder), fault_(std::move(fault)), spaces_(program) {
  home_.assign(program.nodes.size(), kNone);
  owner_.assign(program.blocks.size(), kNone);
  for (BlockId block = 0; block < static_cast<BlockId>(program.blocks.size()); ++block) {
    for (const ValueId id : program.block(block).nodes) {
      home_[static_cast<std::size_t>(id)] = block;
      const Node& node = program.node(id);
      if (node.op == OpCode::loop) owner_[static_cast<std::size_t>(node.body)] = id;
      if (node.op == OpCode::reshape) dense_.insert(node.operands[0]);
      if (node.plan.nest != kNone) nest_member_[node.plan.nest] = id;
    }
    for (const ValueId id : program.block(block).arguments) home_[static_cast<std::size_t>(id)] = block;
  }
  count_readers();
}

void ProgramEmitter::emit() {
  // Scalars are attributes, made of double: their NaN are short too.
  e_.short_nans = std::none_of(program_.tensors.begin(), program_.tensors.end(), [](const TensorParameter& tensor) {
    return tensor.access == Access::read && (tensor.dtype == DType::f32 || tensor.dtype == DType::f16);
  });
  emit_blocks_function();
  emit_run_function();
}

// Everything that is known at the start; what is not used disappears again.
void ProgramEmitter::begin(llvm::Function*, Value* values) {
  indices_.assign(program_.nodes.size(), nullptr);
  bases_.assign(program_.nodes.size(), nullptr);
  dims_.clear();
  strides_.clear();
  scalars_.clear();
  std::int64_t position = 0;
  const auto next = [&](DType dtype) {
    return e_.load(dtype, b_.CreateConstGEP1_64(b_.getInt8Ty(), values, static_cast<std::uint64_t>(8 * position++)), {},
                   true);
  };
  for (std::size_t i = 0; i < program_.dims.size(); ++i) dims_.push_back(next(DType::i64));
  for (const TensorParameter& tensor : program_.tensors) {
    strides_.emplace_back();
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) strides_.back().push_back(next(DType::i64));
  }
  for (const ScalarParameter& scalar : program_.scalars)
    scalars_.push_back(next(scalar.dtype == DType::f32 ? DType::f32 : DType::i64));
  scopes_.assign(1, {});
}

// Whether an index value depends on dims and scalars alone.
bool ProgramEmitter::uniform(ValueId id) const {
  const Node& node = program_.node(id);
  if (node.op == OpCode::loop_variable || node.op == OpCode::index_load) return false;
  for (const ValueId operand : node.operands)
    if (!uniform(operand)) return false;
  return true;
}

std::vector<ProgramEmitter::Grid> ProgramEmitter::grids() const {
  std::vector<Grid> out;
  const auto has_uniform_bounds = [&](const Node& loop) {
    return uniform(loop.operands[kLoopStart]) && uniform(loop.operands[kLoopStop]) && uniform(loop.operands[kLoopStep]);
  };
  for (const ValueId id : program_.block(0).nodes) {
    const Node& node = program_.node(id);
    if (node.op == OpCode::assemble) return {};
    if (node.op != OpCode::loop) continue;
    if (!node.parallel || !has_uniform_bounds(node)) return {};
    Grid grid{{id}};
    for (bool perfect = true; perfect;) {
      perfect = false;
      ValueId inner = kNone;
      bool alone = true;
      for (const ValueId part : program_.block(program_.node(grid.loops.back()).body).nodes) {
        const Node& other = program_.node(part);
        if (other.op == OpCode::loop && inner == kNone)
          inner = part;
        else if (other.plan.nest != kNone)
          alone = false;
      }
      if (inner == kNone || !alone) break;
      const Node& loop = program_.node(inner);
      if (!loop.parallel || !has_uniform_bounds(loop)) break;
      grid.loops.push_back(inner);
      perfect = true;
    }
    out.push_back(grid);
  }
  return out;
}

llvm::Value* ProgramEmitter::trips(const Node& loop) {
  Value* step = e_.smax(index(loop.operands[kLoopStep]), e_.number(1));
  Value* length = b_.CreateSub(index(loop.operands[kLoopStop]), index(loop.operands[kLoopStart]));
  Value* rounded = b_.CreateSDiv(b_.CreateAdd(length, b_.CreateSub(step, e_.number(1))), step);
  return e_.smax(rounded, e_.number(0));
}

void ProgramEmitter::emit_blocks_function() {
  llvm::Function* function = e_.begin_function("tw_blocks", b_.getInt64Ty(), {b_.getPtrTy()});
  begin(function, function->getArg(0));
  const std::vector<Grid> all = grids();
  Value* total = e_.number(all.empty() ? 1 : 0);
  for (const Grid& grid : all) {
    Value* count = e_.number(1);
    for (const ValueId loop : grid.loops) count = b_.CreateMul(count, trips(program_.node(loop)));
    total = b_.CreateAdd(total, count);
  }
  b_.CreateRet(total);
}

// Stores past the caches save reading what is overwritten, where nobody will find the output in a cache anyway.
llvm::Value* ProgramEmitter::outputs_beyond_caches() {
  constexpr std::int64_t kCaches = std::int64_t{16} << 20;  // with as large an input that is a last-level cache
  const auto multiplies = [](const Node& node) { return node.op == OpCode::matmul; };
  if (!e_.level.x86 || std::any_of(program_.nodes.begin(), program_.nodes.end(), multiplies)) return nullptr;
  Value* bytes = e_.number(0);
  for (const TensorParameter& tensor : program_.tensors) {
    if (tensor.access != Access::write) continue;
    Value* size = e_.number(static_cast<std::int64_t>(dtype_size(tensor.dtype)));
    for (const TensorDim& dim : tensor.shape)
      size =
          b_.CreateMul(size, dim.symbol == kNone ? e_.number(dim.size) : dims_[static_cast<std::size_t>(dim.symbol)]);
    bytes = b_.CreateAdd(bytes, size);
  }
  Value* out = b_.CreateICmpSGT(bytes, e_.number(kCaches));
  return llvm::isa<llvm::ConstantInt>(out) ? nullptr : out;
}

void ProgramEmitter::emit_run_function() {
  llvm::Function* function =
      e_.begin_function("tw_run", b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty()});
  for (unsigned i = 0; i < 2; ++i) {
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  begin(function, function->getArg(1));
  tensors_.clear();
  for (std::size_t i = 0; i < program_.tensors.size(); ++i) {
    llvm::LoadInst* address =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), function->getArg(0), i));
    address->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    tensors_.push_back(address);
  }
  streams_ = outputs_beyond_caches();
  Value* first = function->getArg(2);
  Value* last = function->getArg(3);
  const std::vector<Grid> all = grids();
  if (all.empty()) {
    e_.when(b_.CreateICmpSLT(first, last), [&] { emit_block(0); });
  } else {
    // Loops are left to the grid; what stands beside them at the top is computed once a call.
    emit_block(0, all[0].loops[0]);
    Value* before = e_.number(0);
    for (const Grid& grid : all) {
      Value* count = e_.number(1);
      for (const ValueId loop : grid.loops) count = b_.CreateMul(count, trips(program_.node(loop)));
      emit_grid(grid, e_.smax(b_.CreateSub(first, before), e_.number(0)), e_.smin(b_.CreateSub(last, before), count));
      before = b_.CreateAdd(before, count);
    }
  }
  if (streams_ != nullptr) e_.when(streams_, [&] { b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); });
  b_.CreateRetVoid();
}

// Blocks first … last-1: the number is taken apart once, then the innermost variable steps and carries to the outer.
void ProgramEmitter::emit_grid(const Grid& grid, Value* first, Value* last) {
  e_.when(b_.CreateICmpSLT(first, last), [&] {
    std::vector<Variable> positions(grid.loops.size());
    std::vector<Value*> counts(grid.loops.size());
    for (std::size_t i = 0; i < grid.loops.size(); ++i) counts[i] = trips(program_.node(grid.loops[i]));
    Value* rest = first;
    for (std::size_t i = grid.loops.size(); i-- > 1;) {
      positions[i] = e_.variable(b_.getInt64Ty(), b_.CreateSRem(rest, counts[i]));
      rest = b_.CreateSDiv(rest, counts[i]);
    }
    positions[0] = e_.variable(b_.getInt64Ty(), rest);
    e_.loop("grid", first, last, 1, [&](Value*) {
      scopes_.emplace_back();
      for (std::size_t i = 0; i < grid.loops.size(); ++i) {
        const Node& loop = program_.node(grid.loops[i]);
        LoopRange range{nullptr, index(loop.operands[kLoopStart]), index(loop.operands[kLoopStop]),
                        e_.smax(index(loop.operands[kLoopStep]), e_.number(1))};
        range.variable = b_.CreateNSWAdd(range.start, b_.CreateNSWMul(e_.get(positions[i]), range.step));
        const ValueId variable = program_.block(loop.body).arguments[0];
        ranges_[variable] = range;
        indices_[static_cast<std::size_t>(variable)] = range.variable;
        if (i + 1 < grid.loops.size()) emit_names(loop.body);
      }
      emit_block(program_.node(grid.loops.back()).body);
      scopes_.pop_back();
      Value* carry = nullptr;
      for (std::size_t i = grid.loops.size(); i-- > 0;) {
        Value* next = e_.get(positions[i]);
        next = b_.CreateAdd(next, carry == nullptr ? e_.number(1) : b_.CreateZExt(carry, b_.getInt64Ty()));
        if (i == 0) {
          e_.set(positions[i], next);
          break;
        }
        carry = b_.CreateICmpEQ(next, counts[i]);
        e_.set(positions[i], b_.CreateSelect(carry, e_.number(0), next));
      }
    });
  });
}

}  // namespace tilewright::tile::llvm_back_end

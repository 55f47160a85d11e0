#include "tile/llvm/matmul_parts.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace tilewright::tile::llvm_back_end::product {
namespace {

void forbid_loop_passes(llvm::BranchInst* branch) {
  llvm::LLVMContext& context = branch->getContext();
  const auto flag = [&](const char* name) { return llvm::MDNode::get(context, {llvm::MDString::get(context, name)}); };
  llvm::MDNode* node = llvm::MDNode::getDistinct(
      context, {nullptr, flag("llvm.loop.unroll.disable"),
                llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.vectorize.enable"),
                                            llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context))})});
  node->replaceOperandWith(0, node);
  branch->setMetadata("llvm.loop", node);
}

}  // namespace

Scheme scheme_for(const Level& level, DType dtype, std::int64_t m, std::int64_t n) {
  Scheme s{dtype, level.lanes, level.bf16 && level.x86 && dtype == DType::bf16, 6, 2};
  // 16 sums hide the latency of two units already; as many rows as leave no second, shorter tile behind are best, for
  // the time and for the size of the code.
  int most = 6;
  if (level.registers >= 32) {
    most = 14;
    for (s.rows = 8; s.rows < most && m % s.rows != 0;) ++s.rows;
  }
  if (m % s.rows != 0) {
    const std::int64_t tiles = (m + most - 1) / most;
    s.rows = static_cast<int>((m + tiles - 1) / tiles);
  }
  if (n <= s.lanes) s.vectors = 1;
  return s;
}

std::int64_t panel_steps(const Scheme& scheme, std::int64_t k) {
  if (scheme.pairs) return round_up((k + 1) / 2, scheme.lanes);
  return round_up(k, 2 * scheme.lanes);
}

Value* Code::smaller(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }

Value* Code::at(Value* pointer, Value* offset, std::int64_t size) {
  return b.CreateInBoundsGEP(b.getIntNTy(static_cast<unsigned>(8 * size)), pointer, offset);
}

Value* Code::scratch(std::int64_t bytes) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.begin());
  llvm::AllocaInst* memory =
      first.CreateAlloca(llvm::ArrayType::get(first.getInt8Ty(), static_cast<std::uint64_t>(bytes)));
  memory->setAlignment(llvm::Align(64));
  return memory;
}

void Code::loop(Value* start, Value* stop, std::int64_t step, const std::function<void(Value*)>& body) {
  loop(start, stop, step, {}, [&](Value* i, const std::vector<Value*>&) {
    body(i);
    return std::vector<Value*>{};
  });
}

std::vector<Value*> Code::loop(Value* start, Value* stop, std::int64_t step, const std::vector<Value*>& initial,
                               const std::function<std::vector<Value*>(Value*, const std::vector<Value*>&)>& body) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(b.getContext(), "loop", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(b.CreateICmpSLT(start, stop), inside, after);
  b.SetInsertPoint(inside);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(start, before);
  std::vector<llvm::PHINode*> carried;
  std::vector<Value*> values;
  for (Value* value : initial) {
    carried.push_back(b.CreatePHI(value->getType(), 2));
    carried.back()->addIncoming(value, before);
    values.push_back(carried.back());
  }
  const std::vector<Value*> next = body(i, values);
  Value* advanced = add(i, step);
  llvm::BasicBlock* end = b.GetInsertBlock();
  forbid_loop_passes(b.CreateCondBr(b.CreateICmpSLT(advanced, stop), inside, after));
  i->addIncoming(advanced, end);
  b.SetInsertPoint(after);
  std::vector<Value*> results;
  for (std::size_t c = 0; c < carried.size(); ++c) {
    carried[c]->addIncoming(next[c], end);
    llvm::PHINode* result = b.CreatePHI(next[c]->getType(), 2);
    result->addIncoming(initial[c], before);
    result->addIncoming(next[c], end);
    results.push_back(result);
  }
  return results;
}

void Code::when(Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(b.getContext(), "yes", function);
  llvm::BasicBlock* no = otherwise ? llvm::BasicBlock::Create(b.getContext(), "no", function) : nullptr;
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(condition, yes, no ? no : after);
  b.SetInsertPoint(yes);
  then();
  b.CreateBr(after);
  if (no) {
    b.SetInsertPoint(no);
    otherwise();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
}

std::vector<Value*> Code::choose(Value* condition, const std::vector<Value*>& otherwise,
                                 const std::function<std::vector<Value*>()>& then) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  std::vector<Value*> chosen;
  llvm::BasicBlock* end = nullptr;
  when(condition, [&] {
    chosen = then();
    end = b.GetInsertBlock();
  });
  std::vector<Value*> results;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    llvm::PHINode* result = b.CreatePHI(chosen[i]->getType(), 2);
    result->addIncoming(otherwise[i], before);
    result->addIncoming(chosen[i], end);
    results.push_back(result);
  }
  return results;
}

Value* Code::mask_below(Value* count, int lanes) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt32(static_cast<unsigned>(i)));
  // The count may be far beyond the lanes, or below 0.
  Value* clamped = smaller(count, number(lanes));
  Value* narrow = b.CreateTrunc(clamped, b.getInt32Ty());
  return b.CreateICmpSLT(llvm::ConstantVector::get(numbers), b.CreateVectorSplat(static_cast<unsigned>(lanes), narrow));
}

Value* Code::load(llvm::Type* type, Value* pointer, Value* mask, int alignment) {
  const llvm::Align align(static_cast<std::uint64_t>(alignment));
  if (!mask) return b.CreateAlignedLoad(type, pointer, align);
  return b.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type));
}

void Code::store(Value* value, Value* pointer, Value* mask, int alignment) {
  const llvm::Align align(static_cast<std::uint64_t>(alignment));
  if (mask)
    b.CreateMaskedStore(value, pointer, align, mask);
  else
    b.CreateAlignedStore(value, pointer, align);
}

Value* Code::load_floats(Value* pointer, Value* mask) {
  switch (s.dtype) {
    case DType::f16:
      return b.CreateFPExt(b.CreateBitCast(load(vector_of(b.getInt16Ty(), s.lanes), pointer, mask, 1),
                                           vector_of(b.getHalfTy(), s.lanes)),
                           floats());
    case DType::bf16: {
      Value* bits = b.CreateZExt(load(vector_of(b.getInt16Ty(), s.lanes), pointer, mask, 1), integers());
      return b.CreateBitCast(b.CreateShl(bits, 16), floats());
    }
    default:
      return load(floats(), pointer, mask, 1);
  }
}

Value* Code::load_pairs(Value* pointer, Value* count) {
  if (!count) return load(integers(), pointer, nullptr, 1);
  Value* mask = mask_below(count, 2 * s.lanes);
  return b.CreateBitCast(load(vector_of(b.getInt16Ty(), 2 * s.lanes), pointer, mask, 1), integers());
}

void Code::prefetch(Value* pointer) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                    {pointer, b.getInt32(0), b.getInt32(3), b.getInt32(1)});  // for reading, to the nearest cache, data
}

Value* Code::load_one(Value* pointer) {
  switch (s.dtype) {
    case DType::f16:
      return b.CreateFPExt(b.CreateAlignedLoad(b.getHalfTy(), pointer, llvm::Align(1)), b.getFloatTy());
    case DType::bf16: {
      Value* bits = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), pointer, llvm::Align(1)), b.getInt32Ty());
      return b.CreateBitCast(b.CreateShl(bits, 16), b.getFloatTy());
    }
    default:
      return b.CreateAlignedLoad(b.getFloatTy(), pointer, llvm::Align(1));
  }
}

Value* Code::multiply_add(Value* x, Value* y, Value* sum) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {floats()}, {x, y, sum});
}

Value* Code::dot(Value* x, Value* y, Value* sum) {
  llvm::Type* type = vector_of(b.getBFloatTy(), 2 * s.lanes);
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                           {sum, b.CreateBitCast(x, type), b.CreateBitCast(y, type)});
}

Value* Code::shuffle(Value* x, Value* y, const std::function<int(int)>& lane, int lanes) {
  std::vector<int> mask;
  for (int i = 0; i < (lanes ? lanes : s.lanes); ++i) mask.push_back(lane(i));
  return b.CreateShuffleVector(x, y, mask);
}

std::vector<Value*> Code::transpose(std::vector<Value*> rows) {
  const int n = s.lanes;
  std::vector<Value*> t(rows.size());
  const auto size = [](int i) { return static_cast<std::size_t>(i); };
  // Within the 128-bit parts: 32-bit, then 64-bit interleaving of neighbours.
  for (int i = 0; i < n; i += 2)
    for (int high = 0; high < 2; ++high)
      t[size(i + high)] = shuffle(rows[size(i)], rows[size(i + 1)],
                                  [&](int l) { return l / 4 * 4 + 2 * high + l % 4 / 2 + (l % 2) * n; });
  for (int i = 0; i < n; i += 4)
    for (int c = 0; c < 4; ++c)
      rows[size(i + c)] = shuffle(t[size(i + c / 2)], t[size(i + c / 2 + 2)],
                                  [&](int l) { return l / 4 * 4 + 2 * (c % 2) + l % 2 + (l % 4 / 2) * n; });
  // Part p of rows[4g + c] holds column 4p + c of rows 4g … 4g+3: a transpose of whole parts remains.
  const int parts = n / 4;
  for (int step = 1; step < parts; step *= 2) {
    for (int g = 0; g < parts; ++g) {
      if (g & step) continue;
      for (int c = 0; c < 4; ++c) {
        Value* x = rows[size(4 * g + c)];
        Value* y = rows[size(4 * (g | step) + c)];
        const auto part = [&](int l) { return l / 4; };
        rows[size(4 * g + c)] =
            shuffle(x, y, [&](int l) { return part(l) & step ? (part(l) ^ step) * 4 + l % 4 + n : l; });
        rows[size(4 * (g | step) + c)] =
            shuffle(x, y, [&](int l) { return part(l) & step ? l + n : (part(l) ^ step) * 4 + l % 4; });
      }
    }
  }
  return rows;
}

}  // namespace tilewright::tile::llvm_back_end::product

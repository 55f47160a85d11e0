#include "tile/llvm/emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "base/error.h"

namespace tilewright::tile::llvm_back_end {
namespace {

constexpr std::uint64_t kAhead = 4096;  // bytes
const llvm::Align kElementAligned;      // 1: tensors may start anywhere

int lanes_of(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

bool is_true(const llvm::Value* condition) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition);
  return constant != nullptr && constant->isOne();
}
bool is_false(const llvm::Value* condition) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition);
  return constant != nullptr && constant->isZero();
}

bool is_arithmetic(const llvm::Value* value) {
  if (const auto* two = llvm::dyn_cast<llvm::BinaryOperator>(value)) return two->getType()->isFPOrFPVectorTy();
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fma;
}

}  // namespace

Emitter::Emitter(llvm::Module& m, const Level& l) : builder(m.getContext()), module(m), level(l) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder.setFastMathFlags(flags);
}

llvm::Function* Emitter::begin_function(const std::string& name, llvm::Type* result,
                                        llvm::ArrayRef<llvm::Type*> parameters) {
  function_ = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                     llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("prefer-vector-width", std::to_string(level.lanes * 32));
  entry_ = block("entry");
  halves_ = nullptr;
  llvm::BasicBlock* start = block("start");
  builder.SetInsertPoint(entry_);
  builder.CreateBr(start);
  builder.SetInsertPoint(start);
  return function_;
}

llvm::BasicBlock* Emitter::block(const std::string& name) {
  return llvm::BasicBlock::Create(module.getContext(), name, function_);
}

llvm::Constant* Emitter::real(double value, int width) {
  llvm::Constant* scalar = llvm::ConstantFP::get(builder.getContext(), llvm::APFloat(static_cast<float>(value)));
  return width == 1
             ? scalar
             : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), scalar);
}
llvm::Constant* Emitter::whole(std::int32_t value, int width) {
  llvm::Constant* scalar = builder.getInt32(static_cast<std::uint32_t>(value));
  return width == 1
             ? scalar
             : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(width)), scalar);
}

llvm::Type* Emitter::element(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return builder.getFloatTy();
    case DType::f16:
      return builder.getHalfTy();
    case DType::bf16:
      return builder.getInt16Ty();
    case DType::i64:
      return builder.getInt64Ty();
    case DType::i32:
      return builder.getInt32Ty();
    case DType::u8:
      return builder.getInt8Ty();
    case DType::b8:
      return builder.getInt1Ty();
    default:
      fail({.what = "no code is generated for elements of this dtype",
            .where = "tile compiler",
            .expected = "f32, f16, bf16, i64, i32, u8 or bool",
            .found = std::string(dtype_name(dtype)),
            .fix = "convert the tensor first"});
  }
}

llvm::Type* Emitter::vector_of(llvm::Type* scalar, int width) {
  return width == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(width));
}
llvm::Value* Emitter::splat(llvm::Value* scalar, int width) {
  return width == 1 ? scalar : builder.CreateVectorSplat(static_cast<unsigned>(width), scalar);
}
int Emitter::width_of(const llvm::Value* value) { return lanes_of(value->getType()); }

llvm::Value* Emitter::smin(llvm::Value* a, llvm::Value* b) {
  return a == b ? a : builder.CreateSelect(builder.CreateICmpSLT(a, b), a, b);
}
llvm::Value* Emitter::smax(llvm::Value* a, llvm::Value* b) {
  return a == b ? a : builder.CreateSelect(builder.CreateICmpSGT(a, b), a, b);
}

void Emitter::loop(const std::string& name, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                   const std::function<void(llvm::Value*)>& body) {
  loop(name, begin, end, number(step), body);
}

void Emitter::loop(const std::string& name, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                   const std::function<void(llvm::Value*)>& body) {
  llvm::Value* enters = builder.CreateICmpSLT(begin, end);
  if (is_false(enters)) return;
  if (is_true(enters) && is_false(builder.CreateICmpSLT(builder.CreateAdd(begin, step), end))) return body(begin);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::BasicBlock* inside = block(name);
  llvm::BasicBlock* after = block(name + "_end");
  builder.CreateCondBr(enters, inside, after);
  builder.SetInsertPoint(inside);
  llvm::PHINode* i = builder.CreatePHI(builder.getInt64Ty(), 2, name);
  i->addIncoming(begin, before);
  body(i);
  llvm::Value* next = builder.CreateNSWAdd(i, step);
  i->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, end), inside, after);
  builder.SetInsertPoint(after);
}

void Emitter::when(llvm::Value* condition, const std::function<void()>& body) {
  if (is_false(condition)) return;
  if (is_true(condition)) return body();
  llvm::BasicBlock* inside = block("then");
  llvm::BasicBlock* after = block("then_end");
  builder.CreateCondBr(condition, inside, after);
  builder.SetInsertPoint(inside);
  body();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

Variable Emitter::variable(llvm::Type* type, llvm::Value* initial) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  const Variable out{at_entry.CreateAlloca(type), type};
  set(out, initial);
  return out;
}
llvm::Value* Emitter::get(const Variable& variable) { return builder.CreateLoad(variable.type, variable.place); }
void Emitter::set(const Variable& variable, llvm::Value* value) { builder.CreateStore(value, variable.place); }

llvm::Value* Emitter::stack(std::int64_t bytes) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  llvm::AllocaInst* out =
      at_entry.CreateAlloca(llvm::ArrayType::get(builder.getInt8Ty(), static_cast<std::uint64_t>(bytes)));
  out->setAlignment(llvm::Align(64));
  return out;
}

llvm::Value* Emitter::at(llvm::Value* base, llvm::Value* elements, DType dtype) {
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  return builder.CreateGEP(builder.getInt8Ty(), base, builder.CreateMul(elements, number(size)));
}

llvm::Value* Emitter::mark(llvm::Instruction* load, bool constant) {
  if (constant) load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

llvm::Value* Emitter::load(DType dtype, llvm::Value* address, const Lanes& lanes, bool constant) {
  if (lanes.streaming && constant) {  // large inputs: the next page is asked for before the processor would
    llvm::Value* ahead = builder.CreateConstGEP1_64(builder.getInt8Ty(), address, kAhead);
    builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {ahead->getType()},
                            {ahead, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
  } else if (lanes.ahead != nullptr && constant && lanes.mask == nullptr && lanes.width > 1) {
    llvm::Value* ahead = at(address, lanes.ahead, dtype);
    builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {ahead->getType()},
                            {ahead, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
  }
  llvm::Type* memory = dtype == DType::b8 ? builder.getInt8Ty() : element(dtype);
  llvm::Type* whole_type = vector_of(memory, lanes.width);
  llvm::Value* out = lanes.mask == nullptr || lanes.width == 1
                         ? mark(builder.CreateAlignedLoad(whole_type, address, kElementAligned), constant)
                         : mark(builder.CreateMaskedLoad(whole_type, address, kElementAligned, lanes.mask,
                                                         llvm::Constant::getNullValue(whole_type)),
                                constant);
  return dtype == DType::b8 ? builder.CreateIsNotNull(out) : out;
}

void Emitter::store(DType dtype, llvm::Value* value, llvm::Value* address, const Lanes& lanes) {
  if (dtype == DType::b8) value = builder.CreateZExt(value, vector_of(builder.getInt8Ty(), lanes.width));
  if (lanes.streaming) {
    const auto bytes = static_cast<std::uint64_t>(lanes.width) * dtype_size(dtype);
    llvm::StoreInst* out = builder.CreateAlignedStore(value, address, llvm::Align(bytes));
    out->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(builder.getContext(), llvm::ConstantAsMetadata::get(builder.getInt32(1))));
  } else if (lanes.mask == nullptr || lanes.width == 1)
    builder.CreateAlignedStore(value, address, kElementAligned);
  else
    builder.CreateMaskedStore(value, address, kElementAligned, lanes.mask);
}

llvm::Value* Emitter::load_strided(DType dtype, llvm::Value* address, llvm::Value* stride, const Lanes& lanes,
                                   bool constant) {
  if (lanes.width == 1) return load(dtype, address, lanes, constant);
  if (is_true(builder.CreateICmpEQ(stride, number(1)))) return load(dtype, address, lanes, constant);
  llvm::Value* out = llvm::PoisonValue::get(type(dtype, lanes.width));
  for (int lane = 0; lane < lanes.width; ++lane) {
    llvm::Value* position = number(lane);  // lanes that do not exist read the last one that does
    if (lanes.mask != nullptr) position = smin(position, builder.CreateSub(lanes.count, number(1)));
    llvm::Value* one = load(dtype, at(address, builder.CreateMul(position, stride), dtype), {}, constant);
    out = builder.CreateInsertElement(out, one, static_cast<std::uint64_t>(lane));
  }
  return out;
}

// Round to nearest even on the upper half; NaN keeps its upper bits and is made quiet.
llvm::Value* Emitter::to_bf16(llvm::Value* value) {
  const int width = width_of(value);
  if (level.bf16 && (width == 16 || width == 8)) {
    const llvm::Intrinsic::ID id = width == 16 ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                                               : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256;
    return builder.CreateBitCast(builder.CreateIntrinsic(id, {}, {value}), vector_of(builder.getInt16Ty(), width));
  }
  llvm::Type* words = vector_of(builder.getInt32Ty(), width);
  llvm::Value* bits = builder.CreateBitCast(value, words);
  const bool compares = level.x86 && !level.masks && width == 8;
  llvm::Value* high = builder.CreateLShr(bits, whole(16, width));
  llvm::Value* more = nullptr;
  if (compares) {  // a comparison instead of a shift, for which there are half as many units; LLVM would turn it back
    llvm::Value* odd = opaque(builder.CreateAnd(bits, whole(0x10000, width)));
    llvm::Value* even = builder.CreateSExt(builder.CreateICmpEQ(odd, llvm::Constant::getNullValue(words)), words);
    more = builder.CreateAdd(even, whole(0x8000, width));
  } else {
    more = builder.CreateAdd(builder.CreateAnd(high, whole(1, width)), whole(0x7fff, width));
  }
  llvm::Value* nan = builder.CreateFCmpUNO(value, value);
  llvm::Value* out = nullptr;
  if (is_arithmetic(value) && short_nans) {  // rounding does not carry into the sign
    out = builder.CreateLShr(builder.CreateAdd(bits, more), whole(16, width));
  } else if (is_arithmetic(value)) {  // a NaN is quiet already and keeps its upper bits where nothing is added
    more = builder.CreateSelect(nan, llvm::Constant::getNullValue(words), more);
    out = builder.CreateLShr(builder.CreateAdd(bits, more), whole(16, width));
  } else {
    llvm::Value* rounded = builder.CreateLShr(builder.CreateAdd(bits, more), whole(16, width));
    out = builder.CreateSelect(nan, builder.CreateOr(high, whole(0x40, width)), rounded);
  }
  return builder.CreateTrunc(out, vector_of(builder.getInt16Ty(), width));
}

// The same of eight, where a vector's halves are shuffled by bytes: one operation besides the load of both halves.
llvm::Value* Emitter::from_bf16_by_bytes(llvm::Value* value) {
  llvm::Type* type_of_bytes = vector_of(builder.getInt8Ty(), 32);
  if (halves_ == nullptr) {
    std::vector<std::uint8_t> positions;
    for (unsigned i = 0; i < 32; ++i)
      positions.push_back(static_cast<std::uint8_t>(i % 4 < 2 ? 0x80 : i / 4 * 2 + i % 2));  // 0x80: zero
    auto* text = llvm::FunctionType::get(type_of_bytes, {type_of_bytes}, false);
    llvm::IRBuilder<> first(entry_, entry_->begin());
    halves_ = first.CreateCall(llvm::InlineAsm::get(text, "", "=x,0", false),
                               {llvm::ConstantDataVector::get(builder.getContext(), positions)});
  }
  std::vector<int> twice;
  for (int i = 0; i < 16; ++i) twice.push_back(i % 8);
  llvm::Value* both = builder.CreateBitCast(builder.CreateShuffleVector(value, twice), type_of_bytes);
  llvm::Value* bits = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_pshuf_b, {}, {both, halves_});
  return builder.CreateBitCast(bits, type(DType::f32, 8));
}

// One permutation with zeroed lower halves instead of a widening and a shift, both of which wait for the same units.
// The positions and the mask come out of an empty assembly text, or LLVM would turn them back into more instructions.
llvm::Value* Emitter::from_bf16_by_permutation(llvm::Value* value) {
  llvm::Type* halves = vector_of(builder.getInt16Ty(), 32);
  if (halves_ == nullptr) {
    std::vector<std::uint16_t> positions;
    for (unsigned i = 0; i < 32; ++i) positions.push_back(static_cast<std::uint16_t>(i / 2));
    llvm::IRBuilder<> first(entry_, entry_->begin());
    const auto as_it_is = [&](llvm::Constant* constant, const char* constraints) {
      auto* type = llvm::FunctionType::get(constant->getType(), {constant->getType()}, false);
      return first.CreateCall(llvm::InlineAsm::get(type, "", constraints, false), {constant});
    };
    halves_ = as_it_is(llvm::ConstantDataVector::get(builder.getContext(), positions), "=v,0");
    llvm::Value* upper = as_it_is(builder.getInt32(0xaaaaaaaa), "=r,0");
    upper_ = first.CreateBitCast(upper, vector_of(builder.getInt1Ty(), 32));
  }
  std::vector<int> whole_and_more;
  for (int i = 0; i < 32; ++i) whole_and_more.push_back(i < 16 ? i : -1);
  llvm::Value* wide = builder.CreateShuffleVector(value, whole_and_more);
  llvm::Value* spread = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {}, {wide, halves_});
  llvm::Value* bits = builder.CreateSelect(upper_, spread, llvm::Constant::getNullValue(halves));
  return builder.CreateBitCast(bits, type(DType::f32, 16));
}

// The value through an empty assembly text. LLVM would do comparisons and sums of widened f16 in f16, which these
// processors compute one element at a time.
llvm::Value* Emitter::opaque(llvm::Value* value) {
  if (const int width = width_of(value); width > 1 && width < 4) return value;  // no register is of that size
  const char* constraints = !level.x86 ? "=w,0" : level.lanes == 16 ? "=v,0" : "=x,0";
  auto* text = llvm::InlineAsm::get(llvm::FunctionType::get(value->getType(), {value->getType()}, false), "",
                                    constraints, false);
  llvm::CallInst* call = builder.CreateCall(text, {value});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

llvm::Value* Emitter::cast(llvm::Value* value, DType from, DType to) {
  if (from == to) return value;
  const int width = width_of(value);
  llvm::Type* wanted = type(to, width);
  if (from == DType::bf16 && level.x86 && level.lanes == 16 && width == 16)
    return cast(from_bf16_by_permutation(value), DType::f32, to);
  if (from == DType::bf16 && level.x86 && !level.masks && width == 8 && llvm::isa<llvm::LoadInst>(value))
    return cast(from_bf16_by_bytes(value), DType::f32, to);
  if (from == DType::bf16) {
    llvm::Type* words = vector_of(builder.getInt32Ty(), width);
    llvm::Value* bits = builder.CreateShl(builder.CreateZExt(value, words), whole(16, width));
    return cast(builder.CreateBitCast(bits, type(DType::f32, width)), DType::f32, to);
  }
  if (from == DType::f16) return cast(opaque(builder.CreateFPExt(value, type(DType::f32, width))), DType::f32, to);
  const bool from_real = from == DType::f32;
  if (to == DType::bf16 || to == DType::f16) {
    if (!from_real) return cast(cast(value, from, DType::f32), DType::f32, to);
    return to == DType::bf16 ? to_bf16(value) : builder.CreateFPTrunc(value, wanted);
  }
  if (to == DType::b8)
    return from_real ? builder.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()))
                     : builder.CreateIsNotNull(value);
  const bool is_unsigned = from == DType::b8 || from == DType::u8;
  if (to == DType::f32) return is_unsigned ? builder.CreateUIToFP(value, wanted) : builder.CreateSIToFP(value, wanted);
  if (from_real)
    return to == DType::u8 ? builder.CreateTrunc(builder.CreateFPToSI(value, type(DType::i32, width)), wanted)
                           : builder.CreateFPToSI(value, wanted);
  return builder.CreateIntCast(value, wanted, !is_unsigned);
}

}  // namespace tilewright::tile::llvm_back_end

// The words in which the LLVM back end writes code: one function under construction, loops, variables, stack memory,
// and vectors of tile elements in memory. Sees no tile program.
//
// Elements in registers: f32 float, f16 half, bf16 i16 (its bits), i64 i32 u8 integers, bool i1; `width` of them as a
// vector, one as a scalar.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tensor/dtype.h"
#include "tile/llvm/level.h"

namespace tilewright::tile::llvm_back_end {

// A value that changes while code runs; kept in a register after optimisation.
struct Variable {
  llvm::AllocaInst* place = nullptr;
  llvm::Type* type = nullptr;
};

// Which lanes of a vector access exist. No mask: all.
struct Lanes {
  int width = 1;
  llvm::Value* mask = nullptr;   // width × i1
  llvm::Value* count = nullptr;  // with a mask: how many lanes it has, i64, at least 1
  bool streaming = false;        // stores go past the caches; their addresses are multiples of the vector's size
  llvm::Value* ahead = nullptr;  // elements behind what is loaded from inputs: they are asked for meanwhile
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const Level& level);

  llvm::IRBuilder<> builder;  // contraction of mul and add is on; no other fast-math flag
  llvm::Module& module;
  const Level& level;

  // Whether the lower halves of all NaN that code meets are zero, as of those that arithmetic makes and of widened
  // bf16.
  bool short_nans = false;

  // A new external function in which code is written from now on.
  llvm::Function* begin_function(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);
  llvm::BasicBlock* block(const std::string& name);  // appended to the function

  llvm::Value* number(std::int64_t value) { return builder.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Constant* real(double value, int width = 1);
  llvm::Constant* whole(std::int32_t value, int width = 1);
  llvm::Type* element(DType dtype);  // in registers
  llvm::Type* type(DType dtype, int width) { return vector_of(element(dtype), width); }
  llvm::Type* vector_of(llvm::Type* scalar, int width);
  llvm::Value* splat(llvm::Value* scalar, int width);
  static int width_of(const llvm::Value* value);

  llvm::Value* smin(llvm::Value* a, llvm::Value* b);
  llvm::Value* smax(llvm::Value* a, llvm::Value* b);

  // for (i = begin; i < end; i += step) body(i). i64, step positive. Comparisons of constants are folded.
  void loop(const std::string& name, llvm::Value* begin, llvm::Value* end, std::int64_t step,
            const std::function<void(llvm::Value*)>& body);
  void loop(const std::string& name, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
            const std::function<void(llvm::Value*)>& body);
  // if (condition) body(). A constant condition is folded.
  void when(llvm::Value* condition, const std::function<void()>& body);

  Variable variable(llvm::Type* type, llvm::Value* initial);
  llvm::Value* get(const Variable& variable);
  void set(const Variable& variable, llvm::Value* value);
  llvm::Value* stack(std::int64_t bytes);  // 64-byte aligned, for the whole function

  llvm::Value* at(llvm::Value* base, llvm::Value* elements, DType dtype);  // base + elements · size
  // Memory that nobody writes while the code runs (`constant`: inputs) may be read at any time.
  llvm::Value* load(DType dtype, llvm::Value* address, const Lanes& lanes, bool constant);
  void store(DType dtype, llvm::Value* value, llvm::Value* address, const Lanes& lanes);
  // Element `i` at address + i · stride (elements, i64).
  llvm::Value* load_strided(DType dtype, llvm::Value* address, llvm::Value* stride, const Lanes& lanes, bool constant);
  llvm::Value* cast(llvm::Value* value, DType from, DType to);

 private:
  llvm::Value* to_bf16(llvm::Value* value);
  llvm::Value* opaque(llvm::Value* value);
  llvm::Value* from_bf16_by_permutation(llvm::Value* value);
  llvm::Value* from_bf16_by_bytes(llvm::Value* value);
  llvm::Value* mark(llvm::Instruction* load, bool constant);
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* halves_ = nullptr;  // of the function at hand
  llvm::Value* upper_ = nullptr;
};

}  // namespace tilewright::tile::llvm_back_end

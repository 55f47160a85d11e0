// What the files matmul_*.cpp share: a thin layer over IRBuilder, and the shapes of panels and register tiles.
#pragma once

#include <functional>
#include <vector>

#include "tile/llvm/matmul_emitter.h"

namespace tilewright::tile::llvm_back_end::product {

using llvm::Value;

// What the code of a product depends on, besides the values at run time.
struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::f32;
  std::int64_t a_stride = 0;  // 0: known at run time only
  bool a_padded = false;
  bool transposed = false;
  std::int64_t c_stride = 0;
  bool accumulate = false;
  bool whole_n = false, whole_k = false;  // the valid extents are n and k, always
};

// A product whose tile has at most so many rows reads b in place.
inline constexpr std::int64_t kFewRows = 8;

// How one level multiplies one dtype.
struct Scheme {
  DType dtype;
  int lanes;    // f32 elements of a vector
  bool pairs;   // bf16 dot products: k runs in pairs
  int rows;     // of the register tile
  int vectors;  // of the register tile, along columns
  int width() const { return lanes * vectors; }
};
Scheme scheme_for(const Level& level, DType dtype, std::int64_t m, std::int64_t n);

// Rows of 32-bit elements that a panel has for k columns of b: whole transposed blocks fit.
std::int64_t panel_steps(const Scheme& scheme, std::int64_t k);

inline std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Code of one function.
class Code {
 public:
  Code(llvm::IRBuilderBase& builder, const Scheme& scheme) : b(builder), s(scheme) {}

  llvm::IRBuilderBase& b;
  Scheme s;

  Value* number(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  Value* add(Value* x, Value* y) { return b.CreateNSWAdd(x, y); }
  Value* add(Value* x, std::int64_t y) { return y == 0 ? x : add(x, number(y)); }
  Value* mul(Value* x, Value* y) { return b.CreateNSWMul(x, y); }
  Value* mul(Value* x, std::int64_t y) { return mul(x, number(y)); }
  Value* sub(Value* x, Value* y) { return b.CreateSub(x, y); }
  Value* smaller(Value* x, Value* y);
  // Address `offset` elements of `size` bytes further.
  Value* at(Value* pointer, Value* offset, std::int64_t size);
  Value* at(Value* pointer, std::int64_t offset, std::int64_t size) { return at(pointer, number(offset), size); }
  Value* scratch(std::int64_t bytes);  // on the stack, aligned to 64

  // for (i = start; i < stop; i += step); `stop` and `start` i64.
  void loop(Value* start, Value* stop, std::int64_t step, const std::function<void(Value*)>& body);
  // With carried values.
  std::vector<Value*> loop(Value* start, Value* stop, std::int64_t step, const std::vector<Value*>& initial,
                           const std::function<std::vector<Value*>(Value*, const std::vector<Value*>&)>& body);
  void when(Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  // Of the values' types.
  std::vector<Value*> choose(Value* condition, const std::vector<Value*>& otherwise,
                             const std::function<std::vector<Value*>()>& then);

  llvm::Type* floats() const { return vector_of(b.getFloatTy(), s.lanes); }
  llvm::Type* integers() const { return vector_of(b.getInt32Ty(), s.lanes); }
  llvm::Type* vector_of(llvm::Type* element, int count) const {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
  }
  Value* zeros() { return llvm::Constant::getNullValue(floats()); }
  std::int64_t element_size() const { return static_cast<std::int64_t>(dtype_size(s.dtype)); }

  // Lanes below `count` (i64), of `lanes` lanes.
  Value* mask_below(Value* count, int lanes);
  // `type` at `pointer`; lanes outside the mask are 0 and not read. `alignment` in bytes.
  Value* load(llvm::Type* type, Value* pointer, Value* mask, int alignment);
  void store(Value* value, Value* pointer, Value* mask, int alignment);
  // `lanes` elements of the operands' dtype as f32.
  Value* load_floats(Value* pointer, Value* mask = nullptr);
  // `lanes` pairs of 16-bit elements as i32; `count` elements (i64) exist, or null: all.
  Value* load_pairs(Value* pointer, Value* count = nullptr);
  void prefetch(Value* pointer);    // to all caches; any address will do
  Value* load_one(Value* pointer);  // one element as f32
  Value* splat(Value* scalar) { return b.CreateVectorSplat(static_cast<unsigned>(s.lanes), scalar); }
  Value* multiply_add(Value* x, Value* y, Value* sum);
  // sum + dot products of pairs; x and y are vectors of i32.
  Value* dot(Value* x, Value* y, Value* sum);
  Value* shuffle(Value* x, Value* y, const std::function<int(int)>& lane, int lanes = 0);

  std::vector<Value*> transpose(std::vector<Value*> rows);  // lanes × lanes elements of 32 bits
};

// The arguments of the functions.
struct Parts {
  Value *a, *a_stride, *b, *b_stride, *out, *m, *n, *k;
};
void emit_pack(Code& code, const Shape& shape, const Parts& parts, Value* panel);
void emit_register_tiles(Code& code, const Shape& shape, const Parts& parts);  // parts.b: the panels
void emit_few_rows(Code& code, const Shape& shape, const Parts& parts);
void emit_few_rows_transposed(Code& code, const Shape& shape, const Parts& parts);

}  // namespace tilewright::tile::llvm_back_end::product

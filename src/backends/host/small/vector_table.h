// Loops over f32 values in cache, compiled once per instruction set. Included by files of every set: holds no function
// bodies.
#pragma once

#include <cstdint>

#include "ops/core/scalar_op.h"

namespace tilewright::backends::host {

// Which operand of a binary loop is one value instead of `n`: an element, or a float whatever the elements are.
enum BinaryMode { kBothVectors, kSecondScalar, kFirstScalar, kSecondConstant, kBinaryModes };

// What the elements of a loop are, and whether the output goes past the caches (the caller fences before it reports the
// work done; `out` is then aligned to its elements).
enum Elements { kF32, kF32Streamed, kBf16, kBf16Streamed, kElementKinds };

// Element types that convert to and from f32 in these loops.
enum Storage { kStoreF32, kStoreF16, kStoreBf16, kStoreU8, kStoreBool, kStorageCount };

// How often a loop of n elements is repeated, and how far apart operands and output then lie, in elements.
struct Rows {
  std::int64_t count = 1;
  std::int64_t a = 0, b = 0, out = 0;
};
inline constexpr Rows kOneRow = {};

// Errors in units of the last place of f32, against the exact value, checked by tests: neg abs relu square add sub mul
// div sqrt reciprocal maximum minimum 0.5; rsqrt exp log sin cos tanh sigmoid silu: kVectorUlp. erf: kErfUlp. gelu_tanh
// the same, gelu kGeluUlp, in units of the last place of x/2, as their formulas cancel for negative x. Subnormal
// results are kept; NaN and infinities propagate as in C. `out` may be an operand. No alignment is needed.
struct VectorTable {
  using Unary = void (*)(const void* a, void* out, std::int64_t n, const Rows& rows);
  using Binary = void (*)(const void* a, const void* b, void* out, std::int64_t n, const Rows& rows);
  Unary unary[kElementKinds][ops::kUnaryCount];
  Binary binary[kElementKinds][ops::kBinaryCount][kBinaryModes];  // null: pow of kinds other than kF32
  void (*select)(const float* condition, const float* a, const float* b, float* out, std::int64_t n);
  void (*load[kStorageCount])(const void* in, float* out, std::int64_t n);
  void (*store[kStorageCount])(const float* in, void* out, std::int64_t n);
  // Copies past the caches; the caller fences before it reports the work done.
  void (*copy_stream)(const void* in, void* out, std::int64_t bytes);
  float (*sum)(const float* a, std::int64_t n);
  float (*max)(const float* a, std::int64_t n);  // NaN if there is one; n > 0
  // out[i] = e^(a[i] - shift), and their sum. Meanwhile as many elements from `ahead` on are fetched into the
  // second-level cache; null: none.
  float (*exp_sum)(const float* a, float shift, float* out, std::int64_t n, const float* ahead);
  const char* name;
};

inline constexpr double kVectorUlp = 3.0;
inline constexpr double kErfUlp = 6.0;
inline constexpr double kGeluUlp = 8.0;

extern const VectorTable kGenericTable;
extern const VectorTable kAvx2Table;
extern const VectorTable kAvx512Table;

// For single lanes that the vector loops leave to the C library, in double.
float exact_sin(float x);
float exact_cos(float x);
float widen_f16(std::uint16_t bits);
std::uint16_t narrow_f16(float value);
void pow_loop(const float* a, const float* b, float* out, std::int64_t n, BinaryMode mode);

}  // namespace tilewright::backends::host

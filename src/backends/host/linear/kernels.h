// The kernels of one instruction-set level, as plain functions: all that linear.cpp, bmm.cpp and panels.cpp call.
// Included by files compiled for wider instruction sets, therefore free of inline functions and of the standard
// library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tilewright::backends::host {

enum class Element : unsigned char { f32, f16, bf16 };

// How a panel's bytes are laid out: pairs16 = "panel32x2" of bf16, plain16 = "panel32" of f16, plain32 = "panel32" of
// f32.
enum class PanelForm : unsigned char { pairs16, plain16, plain32 };

// What a tile multiplies: activation element, panel form. dot = bf16 × bf16 by dot-product instructions.
enum class TileKind : unsigned char {
  f32_plain32,
  f32_plain16,
  f32_pairs16,
  f16_plain16,
  bf16_pairs16,
  dot_pairs16,
  count
};

struct TileCall {
  const void* x;  // row r at x + r · x_stride bytes
  long x_stride;
  const void* panel;  // 32 columns × k
  long k;
  int rows;           // 1 … max_rows of the kind
  bool accumulate;    // add to out instead of overwriting
  float* out;         // [rows][32], 64-byte aligned
  const char* ahead;  // prefetched while computing: every 8 steps of k, ahead_lines lines; then 8 steps further
  int ahead_lines;
};

struct FinishCall {
  const float* in;  // [rows][columns], rows in_stride floats apart
  long in_stride;
  int rows;
  long columns;
  const float* bias;  // [columns] or null
  float scale;
  Element to;
  void* y;  // row r at y + r · y_stride bytes
  long y_stride;
};

constexpr int kFewRows = 4;
constexpr long kFewColumns = 128;

// A product with a matrix that is not packed, one to kFewRows rows at a time.
struct FewRowsCall {
  Element element;  // of b, and of x for few_dot; few_add takes x as f32
  const void* x;    // row r at x + r · x_stride bytes
  long x_stride;
  int rows;
  const void* b;  // few_dot: row n, few_add: row k, at b + · b_stride bytes; elements of a row contiguous
  long b_stride;
  long n, k;   // few_add: n at most kFewColumns
  float* out;  // [rows][n], rows out_stride floats apart
  long out_stride;
};

struct PackCall {
  PanelForm form;
  Element from;     // f32 → plain32; f16 → plain16 or plain32; bf16 → pairs16 or plain32
  const void* src;  // element (n, k) at n · n_stride + k · k_stride (elements)
  long n_stride, k_stride;
  long columns;  // 1 … 32; the others become zero
  long k;
  void* panel;  // 64-byte aligned
  bool stream;  // non-temporal stores: the panel will not be read soon
};

struct KernelTable {
  int max_rows[static_cast<int>(TileKind::count)];
  void (*tile[static_cast<int>(TileKind::count)])(const TileCall&);  // null: this level has no such kind
  void (*finish)(const FinishCall&);
  void (*pack)(const PackCall&);
  void (*widen)(Element from, const void* src, float* dst, long count);
  void (*few_dot)(const FewRowsCall&);  // x · bᵀ, both with k contiguous
  void (*few_add)(const FewRowsCall&);  // x · b, b with n contiguous
};

extern const KernelTable kGenericKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels, kAvx512Kernels, kAvx512Bf16Kernels;
#endif

}  // namespace tilewright::backends::host

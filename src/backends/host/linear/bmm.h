// Batched y = x · b for attention: b is not prepacked and may be strided either way. f32, bf16 or f16 (all three
// tensors of one dtype), f32 accumulation, one rounding at the end; the remarks on rounding of linear.h hold.
//
// q·kᵀ: keys [S, D] are b with N = S, K = D, b_n_stride = row stride, b_k_stride = 1.
// p·v: values [S, D] are b with N = D, K = S, b_n_stride = 1, b_k_stride = row stride.
// Other strides work, slowly. Strides are in elements; a batch stride of 0 repeats the same matrix (grouped heads).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {

struct BmmProblem {
  DType dtype = DType::f32;
  DType y_dtype = DType::f32;  // f32, f16 or bf16
  long batch[2] = {1, 1};      // two batch dimensions (batch, heads)
  long M = 0, N = 0, K = 0;
  const void* x = nullptr;  // [M, K], elements of a row contiguous
  long x_row_stride = 0, x_batch_stride[2] = {0, 0};
  const void* b = nullptr;  // element (k, n) at n · b_n_stride + k · b_k_stride
  long b_n_stride = 0, b_k_stride = 0, b_batch_stride[2] = {0, 0};
  void* y = nullptr;  // [M, N], elements of a row contiguous; must not overlap the inputs
  long y_row_stride = 0, y_batch_stride[2] = {0, 0};
  float scale = 1;  // y = scale · (x · b), applied before rounding
};

struct BmmPlan {
  std::uint32_t blocks = 0;
  IsaLevel isa = IsaLevel::generic;
  std::uint32_t row_blocks = 0, column_blocks = 0;
  long rows_per_block = 0, panels_per_block = 0;
};

bool bmm_supports(DType dtype);
BmmPlan plan_bmm(const BmmProblem& problem, int threads, IsaLevel isa = active_isa());
// Scratch is kept per thread and grows to what the largest problem needed. Throws std::bad_alloc if there is no memory.
void bmm_run(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t begin, std::uint32_t end);

}  // namespace tilewright::backends::host

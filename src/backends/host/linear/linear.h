// y = x · Wᵀ + bias on packed weights (panels.h), f32 accumulation, any M, N, K ≥ 0.
//
// Activations have the weights' dtype, or are f32 with bf16 or f16 weights; outputs have the activations' dtype,
// rounded to nearest even once, after the bias. Sums run over K in an order that depends on the instruction set and on
// M, so results are repeatable for the same shape, not bit-equal between shapes. K = 0 gives the bias (or zeros).
//
// bf16 × bf16 at level avx512_bf16 uses VDPBF16PS: each step adds two products at once, rounds to nearest even in its
// own order, ignores MXCSR, and takes denormal inputs, products and sums as zero. All other paths widen to f32 (exact)
// and use f32 FMA with denormals.
//
// The work is a grid of blocks for the caller's threads:
//     LinearPlan plan = plan_linear(M, N, K, x_dtype, w_dtype, threads, isa);
//     if (plan.prepare_blocks) linear_prepare(problem, plan, …) over [0, prepare_blocks)   — a phase of its own
//     linear_run(problem, plan, …) over [0, blocks)
// Blocks may run in any order, on any thread, at the same time; handing them out in ascending order is fastest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {

struct LinearProblem {
  const void* x = nullptr;  // [M, K], elements of a row contiguous
  DType x_dtype = DType::f32;
  long x_row_stride = 0;         // in elements
  const void* packed = nullptr;  // pack_panels of W [N, K], 64-byte aligned
  DType w_dtype = DType::f32;
  long M = 0, N = 0, K = 0;
  const void* bias = nullptr;     // [N] or null
  DType bias_dtype = DType::f32;  // f32, f16 or bf16
  void* y = nullptr;              // [M, N], elements of a row contiguous; must not overlap the inputs
  DType y_dtype = DType::f32;     // f32, f16 or bf16; by the rule above equal to x_dtype
  long y_row_stride = 0;          // in elements
  void* scratch = nullptr;        // plan.scratch_bytes, 64-byte aligned, shared by all blocks of both phases
};

// A plain value: may be kept and reused for every problem of the same shape and dtypes.
struct LinearPlan {
  std::uint32_t prepare_blocks = 0;  // 0: linear_prepare is not needed
  std::uint32_t blocks = 0;
  std::size_t scratch_bytes = 0;
  IsaLevel isa = IsaLevel::generic;
  // How blocks map to rows and panels; of interest to this folder alone.
  std::uint32_t row_blocks = 0, panel_blocks = 0;
  long rows_per_block = 0, panels_per_block = 0, prepare_rows = 0, scratch_row = 0;
  int stride_guess = 1;  // a thread that ran block b most likely runs b + stride_guess next
};

bool linear_supports(DType x_dtype, DType w_dtype);
LinearPlan plan_linear(long M, long N, long K, DType x_dtype, DType w_dtype, int threads, IsaLevel isa = active_isa());

// Widens rows of x into scratch.
void linear_prepare(const LinearProblem& problem, const LinearPlan& plan, std::uint32_t begin, std::uint32_t end);
void linear_run(const LinearProblem& problem, const LinearPlan& plan, std::uint32_t begin, std::uint32_t end);

}  // namespace tilewright::backends::host

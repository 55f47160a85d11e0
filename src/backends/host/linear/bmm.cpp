#include "backends/host/linear/bmm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "backends/host/linear/kernel_table.h"
#include "backends/host/linear/panels.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr long kMaxTileRows = 16;

long ceil_div(long a, long b) { return (a + b - 1) / b; }

// Grows, never shrinks; freed with its thread.
class ThreadScratch {
 public:
  char* at_least(std::size_t bytes) {
    if (bytes > size_) {
      data_.reset();
      size_ = 0;
      const std::size_t rounded = (bytes + 65535) / 65536 * 65536;
      data_.reset(static_cast<char*>(std::aligned_alloc(64, rounded)));
      if (!data_) throw std::bad_alloc();
      size_ = rounded;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
};
thread_local ThreadScratch thread_scratch;

struct Way {
  TileKind kind;
  PanelForm form;
  bool widen_x;
};
// Without dot products both sides are widened: b while it is packed, x a tile of rows at a time.
Way way_of(DType dtype, const KernelTable& kernels) {
  if (dtype == DType::bf16 && kernels.tile[static_cast<int>(TileKind::dot_pairs16)])
    return {TileKind::dot_pairs16, PanelForm::pairs16, false};
  return {TileKind::f32_plain32, PanelForm::plain32, dtype != DType::f32};
}

// For few rows b is read as it lies, once a row: packing would cost more than it saves.
constexpr long kFewRows = 3;
bool goes_by_rows(const BmmProblem& problem) {
  return problem.M <= kFewRows && (problem.b_k_stride == 1 || problem.b_n_stride == 1);
}

// The matrices of one batch.
struct Operands {
  const char* x;
  const char* b;
  char* y;
};
Operands operands_of(const BmmProblem& problem, long batch) {
  const auto size = static_cast<long>(dtype_size(problem.dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const long outer = batch / problem.batch[1], inner = batch % problem.batch[1];
  const auto at = [&](const long stride[2]) { return outer * stride[0] + inner * stride[1]; };
  return {static_cast<const char*>(problem.x) + at(problem.x_batch_stride) * size,
          static_cast<const char*>(problem.b) + at(problem.b_batch_stride) * size,
          static_cast<char*>(problem.y) + at(problem.y_batch_stride) * y_size};
}

void run_by_rows(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t begin, std::uint32_t end) {
  const KernelTable& kernels = kernel_table(plan.isa);
  const Element from = element_of(problem.dtype), to = element_of(problem.y_dtype);
  const auto size = static_cast<long>(dtype_size(problem.dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const long columns_per_block = plan.panels_per_block * kPanelColumns;
  const long wide = ceil_div(problem.K, 16) * 16;
  float* const x = reinterpret_cast<float*>(
      thread_scratch.at_least(static_cast<std::size_t>(wide + columns_per_block) * sizeof(float) + 64));
  float* const out = x + wide;
  for (std::uint32_t block = begin; block < end; ++block) {
    const long first = static_cast<long>(block % plan.column_blocks) * columns_per_block;
    const long columns = std::min(problem.N - first, columns_per_block);
    const Operands of = operands_of(problem, block / plan.column_blocks);
    for (long m = 0; m < problem.M; ++m) {
      kernels.widen(from, of.x + m * problem.x_row_stride * size, x, problem.K);
      kernels.row({.from = from,
                   .x = x,
                   .k = problem.K,
                   .b = of.b + first * problem.b_n_stride * size,
                   .n_stride = problem.b_n_stride,
                   .k_stride = problem.b_k_stride,
                   .columns = columns,
                   .out = out});
      for (long n = 0; n < columns; n += kPanelColumns)
        kernels.finish({.in = out + n,
                        .rows = 1,
                        .columns = std::min(kPanelColumns, columns - n),
                        .bias = nullptr,
                        .scale = problem.scale,
                        .to = to,
                        .y = of.y + (m * problem.y_row_stride + first + n) * y_size,
                        .y_stride = 0});
    }
  }
}

}  // namespace

bool bmm_supports(DType dtype) { return has_panel_layout(dtype); }

BmmPlan plan_bmm(const BmmProblem& problem, int threads, IsaLevel isa) {
  TW_CHECK(bmm_supports(problem.dtype) && problem.M >= 0 && problem.N >= 0 && problem.K >= 0);
  BmmPlan plan;
  plan.isa = isa;
  const long batches = problem.batch[0] * problem.batch[1];
  if (problem.M == 0 || problem.N == 0 || batches <= 0) return plan;
  const long workers = std::max(threads, 1), panels = panel_count(problem.N);
  const long share = std::max(1L, panels * batches / (4 * workers));
  if (goes_by_rows(problem)) {
    plan.row_blocks = 1;
    plan.rows_per_block = problem.M;
    // Not less than some 4,096 products a block.
    plan.panels_per_block = std::min(panels, std::max(share, 128 / std::max(1L, problem.K)));
    plan.column_blocks = static_cast<std::uint32_t>(ceil_div(panels, plan.panels_per_block));
    plan.blocks = static_cast<std::uint32_t>(batches) * plan.column_blocks;
    return plan;
  }
  const PanelForm form = way_of(problem.dtype, kernel_table(isa)).form;
  // A block packs its panels once: as many as half a second-level cache holds, but enough blocks for all threads.
  const long fit = std::max(1L, 262144 / std::max(1L, panel_form_bytes(form, problem.K)));
  plan.panels_per_block = std::min({panels, fit, share});
  plan.column_blocks = static_cast<std::uint32_t>(ceil_div(panels, plan.panels_per_block));
  plan.row_blocks = static_cast<std::uint32_t>(ceil_div(problem.M, 1024));
  plan.rows_per_block = ceil_div(problem.M, plan.row_blocks);
  plan.blocks = static_cast<std::uint32_t>(batches) * plan.column_blocks * plan.row_blocks;
  return plan;
}

void bmm_run(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t begin, std::uint32_t end) {
  if (goes_by_rows(problem)) return run_by_rows(problem, plan, begin, end);
  const KernelTable& kernels = kernel_table(plan.isa);
  const Way way = way_of(problem.dtype, kernels);
  const auto tile = kernels.tile[static_cast<int>(way.kind)];
  const Element from = element_of(problem.dtype);
  const auto size = static_cast<long>(dtype_size(problem.dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const long panel_size = panel_form_bytes(way.form, problem.K), panels = panel_count(problem.N);
  const long wide_row = ceil_div(problem.K, 16) * 16 + 16;
  const std::size_t panel_area = static_cast<std::size_t>(plan.panels_per_block) * static_cast<std::size_t>(panel_size);
  char* const scratch = thread_scratch.at_least(
      panel_area + (way.widen_x ? static_cast<std::size_t>(kMaxTileRows * wide_row) * sizeof(float) : 0) + 64);
  float* const wide = reinterpret_cast<float*>(scratch + panel_area);
  alignas(64) float sums[kMaxTileRows * kPanelColumns];
  for (std::uint32_t block = begin; block < end; ++block) {
    const long row_begin = static_cast<long>(block % plan.row_blocks) * plan.rows_per_block;
    const long row_end = std::min(problem.M, row_begin + plan.rows_per_block);
    const long panel_begin = static_cast<long>(block / plan.row_blocks % plan.column_blocks) * plan.panels_per_block;
    const long panel_end = std::min(panels, panel_begin + plan.panels_per_block);
    const auto [x, b, y] = operands_of(problem, block / plan.row_blocks / plan.column_blocks);
    for (long panel = panel_begin; panel < panel_end; ++panel)
      kernels.pack({.form = way.form,
                    .from = from,
                    .src = b + panel * kPanelColumns * problem.b_n_stride * size,
                    .n_stride = problem.b_n_stride,
                    .k_stride = problem.b_k_stride,
                    .columns = std::min(kPanelColumns, problem.N - panel * kPanelColumns),
                    .k = problem.K,
                    .panel = scratch + (panel - panel_begin) * panel_size,
                    .stream = false});
    const TileSplit split(row_end - row_begin, kernels.max_rows[static_cast<int>(way.kind)]);
    for (long i = 0; i < split.tiles; ++i) {
      const long m = row_begin + split.first(i);
      const char* rows = x + m * problem.x_row_stride * size;
      long stride = problem.x_row_stride * size;
      if (way.widen_x) {
        for (int r = 0; r < split.rows(i); ++r) kernels.widen(from, rows + r * stride, wide + r * wide_row, problem.K);
        rows = reinterpret_cast<const char*>(wide);
        stride = wide_row * static_cast<long>(sizeof(float));
      }
      for (long panel = panel_begin; panel < panel_end; ++panel) {
        tile({.x = rows,
              .x_stride = stride,
              .panel = scratch + (panel - panel_begin) * panel_size,
              .k = problem.K,
              .rows = split.rows(i),
              .accumulate = false,
              .out = sums,
              .ahead = nullptr,
              .ahead_lines = 0});
        kernels.finish({.in = sums,
                        .rows = split.rows(i),
                        .columns = std::min(kPanelColumns, problem.N - panel * kPanelColumns),
                        .bias = nullptr,
                        .scale = problem.scale,
                        .to = element_of(problem.y_dtype),
                        .y = y + m * problem.y_row_stride * y_size + panel * kPanelColumns * y_size,
                        .y_stride = problem.y_row_stride * y_size});
      }
    }
  }
}

}  // namespace tilewright::backends::host

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

// Where one block of the grid lies.
struct Block {
  Block(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t index) {
    const auto size = static_cast<long>(dtype_size(problem.dtype)),
               y_size = static_cast<long>(dtype_size(problem.y_dtype));
    row_begin = static_cast<long>(index % plan.row_blocks) * plan.rows_per_block;
    row_end = std::min(problem.M, row_begin + plan.rows_per_block);
    panel_begin = static_cast<long>(index / plan.row_blocks % plan.column_blocks) * plan.panels_per_block;
    panel_end = std::min(panel_count(problem.N), panel_begin + plan.panels_per_block);
    const long batch = index / plan.row_blocks / plan.column_blocks, outer = batch / problem.batch[1],
               inner = batch % problem.batch[1];
    x = static_cast<const char*>(problem.x) +
        (outer * problem.x_batch_stride[0] + inner * problem.x_batch_stride[1]) * size;
    b = static_cast<const char*>(problem.b) +
        (outer * problem.b_batch_stride[0] + inner * problem.b_batch_stride[1]) * size;
    y = static_cast<char*>(problem.y) +
        (outer * problem.y_batch_stride[0] + inner * problem.y_batch_stride[1]) * y_size;
  }
  long row_begin, row_end, panel_begin, panel_end;
  const char *x, *b;
  char* y;
};

// At most kFewRows rows, b read once where it lies.
bool takes_few_rows(const BmmProblem& problem) {
  return problem.M <= kFewRows && (problem.b_k_stride == 1 || problem.b_n_stride == 1);
}

void run_few_rows(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t begin, std::uint32_t end,
                  const KernelTable& kernels) {
  const bool dot = problem.b_k_stride == 1;
  const Element element = element_of(problem.dtype);
  const auto size = static_cast<long>(dtype_size(problem.dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const int rows = static_cast<int>(problem.M);
  alignas(64) float sums[kFewRows * kFewColumns];
  const bool widen = !dot && element != Element::f32;
  float* const wide = widen ? reinterpret_cast<float*>(thread_scratch.at_least(
                                  static_cast<std::size_t>(rows * problem.K) * sizeof(float) + 64))
                            : nullptr;
  for (std::uint32_t index = begin; index < end; ++index) {
    const Block block(problem, plan, index);
    if (widen)
      for (int r = 0; r < rows; ++r)
        kernels.widen(element, block.x + r * problem.x_row_stride * size, wide + r * problem.K, problem.K);
    const long last = std::min(problem.N, block.panel_end * kPanelColumns);
    for (long n = block.panel_begin * kPanelColumns; n < last; n += kFewColumns) {
      const long columns = std::min(kFewColumns, last - n);
      const FewRowsCall call{
          .element = element,
          .x = widen ? reinterpret_cast<const char*>(wide) : block.x,
          .x_stride = widen ? problem.K * static_cast<long>(sizeof(float)) : problem.x_row_stride * size,
          .rows = rows,
          .b = block.b + n * problem.b_n_stride * size,
          .b_stride = (dot ? problem.b_n_stride : problem.b_k_stride) * size,
          .n = columns,
          .k = problem.K,
          .out = sums,
          .out_stride = kFewColumns};
      (dot ? kernels.few_dot : kernels.few_add)(call);
      kernels.finish({.in = sums,
                      .in_stride = kFewColumns,
                      .rows = rows,
                      .columns = columns,
                      .bias = nullptr,
                      .scale = problem.scale,
                      .to = element_of(problem.y_dtype),
                      .y = block.y + n * y_size,
                      .y_stride = problem.y_row_stride * y_size});
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
  const PanelForm form = way_of(problem.dtype, kernel_table(isa)).form;
  // A block packs its panels once: as many as half a second-level cache holds, but enough blocks for all threads.
  // With few rows: whole rows of values, or 128 KB of keys.
  long fit = std::max(1L, 262144 / std::max(1L, panel_form_bytes(form, problem.K)));
  if (takes_few_rows(problem)) {
    const long key_bytes = std::max(1L, problem.K * static_cast<long>(dtype_size(problem.dtype)) * kPanelColumns);
    fit = problem.b_k_stride == 1 ? std::max(1L, 131072 / key_bytes) : kFewColumns / kPanelColumns;
  }
  const long share = std::max(1L, panels * batches / (4 * workers));
  plan.panels_per_block = std::min({panels, fit, share});
  plan.column_blocks = static_cast<std::uint32_t>(ceil_div(panels, plan.panels_per_block));
  plan.row_blocks = static_cast<std::uint32_t>(ceil_div(problem.M, 1024));
  plan.rows_per_block = ceil_div(problem.M, plan.row_blocks);
  plan.blocks = static_cast<std::uint32_t>(batches) * plan.column_blocks * plan.row_blocks;
  return plan;
}

void bmm_run(const BmmProblem& problem, const BmmPlan& plan, std::uint32_t begin, std::uint32_t end) {
  const KernelTable& kernels = kernel_table(plan.isa);
  if (takes_few_rows(problem)) return run_few_rows(problem, plan, begin, end, kernels);
  const Way way = way_of(problem.dtype, kernels);
  const auto tile = kernels.tile[static_cast<int>(way.kind)];
  const Element from = element_of(problem.dtype);
  const auto size = static_cast<long>(dtype_size(problem.dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const long panel_size = panel_form_bytes(way.form, problem.K);
  const long wide_row = ceil_div(problem.K, 16) * 16 + 16;
  const std::size_t panel_area = static_cast<std::size_t>(plan.panels_per_block) * static_cast<std::size_t>(panel_size);
  char* const scratch = thread_scratch.at_least(
      panel_area + (way.widen_x ? static_cast<std::size_t>(kMaxTileRows * wide_row) * sizeof(float) : 0) + 64);
  float* const wide = reinterpret_cast<float*>(scratch + panel_area);
  alignas(64) float sums[kMaxTileRows * kPanelColumns];
  for (std::uint32_t index = begin; index < end; ++index) {
    const Block block(problem, plan, index);
    const long panel_begin = block.panel_begin, panel_end = block.panel_end;
    for (long panel = panel_begin; panel < panel_end; ++panel)
      kernels.pack({.form = way.form,
                    .from = from,
                    .src = block.b + panel * kPanelColumns * problem.b_n_stride * size,
                    .n_stride = problem.b_n_stride,
                    .k_stride = problem.b_k_stride,
                    .columns = std::min(kPanelColumns, problem.N - panel * kPanelColumns),
                    .k = problem.K,
                    .panel = scratch + (panel - panel_begin) * panel_size,
                    .stream = false});
    const TileSplit split(block.row_end - block.row_begin, kernels.max_rows[static_cast<int>(way.kind)]);
    for (long i = 0; i < split.tiles; ++i) {
      const long m = block.row_begin + split.first(i);
      const char* rows = block.x + m * problem.x_row_stride * size;
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
                        .in_stride = kPanelColumns,
                        .rows = split.rows(i),
                        .columns = std::min(kPanelColumns, problem.N - panel * kPanelColumns),
                        .bias = nullptr,
                        .scale = problem.scale,
                        .to = element_of(problem.y_dtype),
                        .y = block.y + m * problem.y_row_stride * y_size + panel * kPanelColumns * y_size,
                        .y_stride = problem.y_row_stride * y_size});
      }
    }
  }
}

}  // namespace tilewright::backends::host

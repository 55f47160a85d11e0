#include "backends/host/linear/linear.h"

#include <algorithm>

#include "backends/host/linear/kernel_table.h"
#include "backends/host/linear/panels.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr long kDirectRows = 4;  // up to here 16-bit activations are widened inside the tile, above once for all panels
constexpr long kMaxTileRows = 16;

// The tile for these dtypes; `widened` = activations come from scratch as f32.
TileKind tile_kind(DType x_dtype, DType w_dtype, bool widened, const KernelTable& kernels) {
  const PanelForm form = panel_form(w_dtype);
  if (form == PanelForm::plain32) return TileKind::f32_plain32;
  if (form == PanelForm::plain16)
    return x_dtype == DType::f32 || widened ? TileKind::f32_plain16 : TileKind::f16_plain16;
  if (x_dtype == DType::f32 || widened) return TileKind::f32_pairs16;
  return kernels.tile[static_cast<int>(TileKind::dot_pairs16)] ? TileKind::dot_pairs16 : TileKind::bf16_pairs16;
}

// How far ahead a tile that reads its panel only once prefetches, in bytes: measured, the hardware alone is best where
// next to nothing is computed per byte.
long single_tile_distance(TileKind kind, long rows) {
  const bool light = (kind == TileKind::dot_pairs16 || kind == TileKind::f32_plain32) && rows <= 3;
  return light ? 0 : 6144;
}

long ceil_div(long a, long b) { return (a + b - 1) / b; }

}  // namespace

bool linear_supports(DType x_dtype, DType w_dtype) {
  return has_panel_layout(w_dtype) && (x_dtype == w_dtype || x_dtype == DType::f32);
}

LinearPlan plan_linear(long M, long N, long K, DType x_dtype, DType w_dtype, int threads, IsaLevel isa) {
  TW_CHECK(linear_supports(x_dtype, w_dtype) && M >= 0 && N >= 0 && K >= 0);
  LinearPlan plan;
  plan.isa = isa;
  if (M == 0 || N == 0) return plan;
  const long workers = std::max(threads, 1);
  plan.stride_guess = static_cast<int>(workers);
  const TileKind direct = tile_kind(x_dtype, w_dtype, false, kernel_table(isa));
  if (M > kDirectRows && K > 0 && (direct == TileKind::bf16_pairs16 || direct == TileKind::f16_plain16)) {
    // A row length that is no multiple of 4096 bytes, so that the rows of a tile do not share a few cache sets.
    plan.scratch_row = ceil_div(K, 16) * 16 + 16;
    plan.scratch_bytes = static_cast<std::size_t>(M) * static_cast<std::size_t>(plan.scratch_row) * sizeof(float);
    plan.prepare_rows = std::clamp(ceil_div(16384, K), 1L, std::max(1L, ceil_div(M, workers)));
    plan.prepare_blocks = static_cast<std::uint32_t>(ceil_div(M, plan.prepare_rows));
  }
  // Row blocks keep the activations of a block in the last cache; panels are read again for each.
  const long max_rows = 768;
  plan.row_blocks = static_cast<std::uint32_t>(ceil_div(M, max_rows));
  plan.rows_per_block = ceil_div(M, plan.row_blocks);
  const long panels = panel_count(N);
  const long bytes = std::max(1L, static_cast<long>(panel_bytes(w_dtype, K)));
  // Few rows: 1 MB of weights, since memory is read slowly at the start of a run (of 128 KB: 10 % slower). Many rows:
  // one panel.
  const long wanted = M <= 32 ? ceil_div(1048576, bytes) : M <= 128 ? 2 : 1;
  plan.panels_per_block = std::clamp(wanted, 1L, std::max(1L, ceil_div(panels, 4 * workers)));
  plan.panel_blocks = static_cast<std::uint32_t>(ceil_div(panels, plan.panels_per_block));
  plan.blocks = plan.row_blocks * plan.panel_blocks;
  return plan;
}

void linear_prepare(const LinearProblem& problem, const LinearPlan& plan, std::uint32_t begin, std::uint32_t end) {
  const KernelTable& kernels = kernel_table(plan.isa);
  const Element from = element_of(problem.x_dtype);
  const auto size = static_cast<long>(dtype_size(problem.x_dtype));
  const long last = std::min(problem.M, static_cast<long>(end) * plan.prepare_rows);
  for (long m = static_cast<long>(begin) * plan.prepare_rows; m < last; ++m)
    kernels.widen(from, static_cast<const char*>(problem.x) + m * problem.x_row_stride * size,
                  static_cast<float*>(problem.scratch) + m * plan.scratch_row, problem.K);
}

void linear_run(const LinearProblem& problem, const LinearPlan& plan, std::uint32_t begin, std::uint32_t end) {
  const KernelTable& kernels = kernel_table(plan.isa);
  const bool widened = plan.prepare_blocks > 0;
  const TileKind kind = tile_kind(problem.x_dtype, problem.w_dtype, widened, kernels);
  const auto tile = kernels.tile[static_cast<int>(kind)];
  const auto x_size = static_cast<long>(dtype_size(problem.x_dtype)),
             y_size = static_cast<long>(dtype_size(problem.y_dtype));
  const char* const x = static_cast<const char*>(widened ? problem.scratch : problem.x);
  const long x_stride = widened ? plan.scratch_row * static_cast<long>(sizeof(float)) : problem.x_row_stride * x_size;
  const PanelForm form = panel_form(problem.w_dtype);
  const auto bytes = static_cast<long>(panel_bytes(problem.w_dtype, problem.K));
  const long chunk_lines = 8 * panel_step_bytes(form) / 64;
  const long panels = panel_count(problem.N);
  alignas(64) float sums[kMaxTileRows * kPanelColumns];
  alignas(64) float bias[kPanelColumns];
  for (std::uint32_t block = begin; block < end; ++block) {
    const long row_begin = static_cast<long>(block % plan.row_blocks) * plan.rows_per_block;
    const long row_end = std::min(problem.M, row_begin + plan.rows_per_block);
    const long panel_begin = static_cast<long>(block / plan.row_blocks) * plan.panels_per_block;
    const long panel_end = std::min(panels, panel_begin + plan.panels_per_block);
    const TileSplit split(row_end - row_begin, kernels.max_rows[static_cast<int>(kind)]);
    const long lines_per_tile = ceil_div(chunk_lines, std::max(split.tiles, 1L));
    const long distance = split.tiles == 1 ? single_tile_distance(kind, split.rows(0)) : 0;
    for (long panel = panel_begin; panel < panel_end; ++panel) {
      const char* const weights = static_cast<const char*>(problem.packed) + panel * bytes;
      const long next = panel + 1 < panel_end ? panel + 1 : panel_begin + plan.panels_per_block * plan.stride_guess;
      // Each of several tiles fetches its share of the next panel while it computes.
      const bool prefetch = split.tiles == 1 ? distance > 0 : next < panels && plan.row_blocks == 1;
      const char* const ahead =
          split.tiles == 1 ? weights + distance : static_cast<const char*>(problem.packed) + next * bytes;
      const long column = panel * kPanelColumns, columns = std::min(kPanelColumns, problem.N - column);
      if (problem.bias)
        kernels.widen(
            element_of(problem.bias_dtype),
            static_cast<const char*>(problem.bias) + column * static_cast<long>(dtype_size(problem.bias_dtype)), bias,
            columns);
      for (long i = 0; i < split.tiles; ++i) {
        const long m = row_begin + split.first(i);
        const long ahead_begin = i * lines_per_tile, ahead_lines = std::min(lines_per_tile, chunk_lines - ahead_begin);
        tile({.x = x + m * x_stride,
              .x_stride = x_stride,
              .panel = weights,
              .k = problem.K,
              .rows = split.rows(i),
              .accumulate = false,
              .out = sums,
              .ahead = ahead + ahead_begin * 64,
              .ahead_lines = prefetch && ahead_lines > 0 ? static_cast<int>(ahead_lines) : 0});
        kernels.finish({.in = sums,
                        .in_stride = kPanelColumns,
                        .rows = split.rows(i),
                        .columns = columns,
                        .bias = problem.bias ? bias : nullptr,
                        .scale = 1,
                        .to = element_of(problem.y_dtype),
                        .y = static_cast<char*>(problem.y) + m * problem.y_row_stride * y_size + column * y_size,
                        .y_stride = problem.y_row_stride * y_size});
      }
    }
  }
}

}  // namespace tilewright::backends::host

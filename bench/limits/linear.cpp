// Linear layers and batched products alone, over the layer shapes of Qwen3-0.6B and 1.7B.
#include "backends/host/linear/linear.h"

#include <fmt/core.h>

#include <cstring>
#include <random>

#include "backends/host/linear/bmm.h"
#include "backends/host/linear/panels.h"
#include "limits/row_groups.h"

namespace tilewright::bench {
namespace {

using namespace backends::host;

struct Shape {
  long N, K;
};
struct Model {
  const char* name;
  std::vector<Shape> merged, apart;  // of one decoder layer
};
const Model kModels[] = {
    {"0.6B",
     {{4096, 1024}, {1024, 2048}, {6144, 1024}, {1024, 3072}},
     {{2048, 1024}, {1024, 1024}, {1024, 1024}, {1024, 2048}, {3072, 1024}, {3072, 1024}, {1024, 3072}}},
    {"1.7B",
     {{4096, 2048}, {2048, 2048}, {12288, 2048}, {2048, 6144}},
     {{2048, 2048}, {1024, 2048}, {1024, 2048}, {2048, 2048}, {6144, 2048}, {6144, 2048}, {2048, 6144}}},
};

// Values of a size that neither overflows nor becomes denormal, cheaply.
void fill(target::SpinTeam& team, DType dtype, char* data, std::size_t bytes) {
  constexpr std::size_t kPart = 1 << 20;
  team.run_blocks(static_cast<unsigned>((bytes + kPart - 1) / kPart), [&](unsigned part) {
    std::uint32_t state = part * 2654435761u + 1;
    const std::size_t end = std::min(bytes, (part + std::size_t{1}) * kPart);
    for (std::size_t at = part * kPart; at + 4 <= end; at += 4) {
      state = state * 1664525u + 1013904223u;
      const std::uint32_t word = dtype == DType::f32    ? 0x3d000000u | (state & 0x807fffffu)
                                 : dtype == DType::bf16 ? 0x3d003d00u | (state & 0x807f807fu)
                                                        : 0x28002800u | (state & 0x83ff83ffu);
      std::memcpy(data + at, &word, 4);
    }
  });
}

// The weights of as many layers as lie beyond the last cache, packed (any bytes are a packed matrix), one after
// another.
class Layers {
 public:
  Layers(LimitsRun& run, const std::vector<Shape>& shapes, DType x_dtype, DType w_dtype, long M)
      : run_(run), shapes_(shapes), x_dtype_(x_dtype), w_dtype_(w_dtype), M_(M) {
    std::size_t bytes = 0, x_elements = 0, y_elements = 0, scratch = 0;
    for (const Shape& shape : shapes_) {
      bytes += packed_bytes(w_dtype, shape.N, shape.K);
      x_elements = std::max(x_elements, static_cast<std::size_t>(M * shape.K));
      y_elements = std::max(y_elements, static_cast<std::size_t>(M * shape.N));
      plans_.push_back(plan_linear(M, shape.N, shape.K, x_dtype, w_dtype, run.options().threads, run.options().isa));
      scratch = std::max(scratch, plans_.back().scratch_bytes);
      flops_ += 2.0 * static_cast<double>(M) * static_cast<double>(shape.N) * static_cast<double>(shape.K);
    }
    layer_bytes_ = bytes;
    layers_ = std::max<std::size_t>(1, target::beyond_caches(M == 1 ? 16 : 6) / bytes);
    const auto round = [](std::size_t n) { return (n + 4095) / 4096 * 4096 + 4096; };
    weights_ = std::make_unique<target::PagedBuffer>(round(bytes * layers_), true);
    x_ = std::make_unique<target::PagedBuffer>(round(x_elements * dtype_size(x_dtype)), true);
    y_ = std::make_unique<target::PagedBuffer>(round(y_elements * dtype_size(x_dtype)), true);
    scratch_ = std::make_unique<target::PagedBuffer>(round(scratch), true);
    fill(run.team(), w_dtype, weights_->data(), bytes * layers_);
    fill(run.team(), x_dtype, x_->data(), x_elements * dtype_size(x_dtype));
  }

  // Seconds of `count` layers, each on the next weights.
  double seconds(std::size_t count) {
    const target::SpinTeam::Timing timing(run_.team());
    const double start = target::seconds_now();
    for (std::size_t i = 0; i < count; ++i) {
      const char* weights = weights_->data() + next_++ % layers_ * layer_bytes_;
      for (std::size_t s = 0; s < shapes_.size(); ++s) {
        const Shape& shape = shapes_[s];
        const LinearProblem problem{.x = x_->data(),
                                    .x_dtype = x_dtype_,
                                    .x_row_stride = shape.K,
                                    .packed = weights,
                                    .w_dtype = w_dtype_,
                                    .M = M_,
                                    .N = shape.N,
                                    .K = shape.K,
                                    .y = y_->data(),
                                    .y_dtype = x_dtype_,
                                    .y_row_stride = shape.N,
                                    .scratch = scratch_->data()};
        const LinearPlan& plan = plans_[s];
        if (plan.prepare_blocks)
          run_.team().run_blocks(plan.prepare_blocks,
                                 [&](unsigned block) { linear_prepare(problem, plan, block, block + 1); });
        run_.team().run_blocks(plan.blocks, [&](unsigned block) { linear_run(problem, plan, block, block + 1); });
        weights += packed_bytes(w_dtype_, shape.N, shape.K);
      }
    }
    return target::seconds_now() - start;
  }
  double flops() const { return flops_; }
  std::size_t bytes() const { return layer_bytes_; }
  std::size_t layers() const { return layers_; }

 private:
  LimitsRun& run_;
  std::vector<Shape> shapes_;
  DType x_dtype_, w_dtype_;
  long M_;
  std::vector<LinearPlan> plans_;
  double flops_ = 0;
  std::size_t layer_bytes_ = 0, layers_ = 0, next_ = 0;
  std::unique_ptr<target::PagedBuffer> weights_, x_, y_, scratch_;
};

void add_layers(LimitsRun& run, const std::string& what, const std::vector<Shape>& shapes, DType x_dtype, DType w_dtype,
                long M, std::optional<double> bar) {
  if (!run.wants(what)) return;
  Layers layers(run, shapes, x_dtype, w_dtype, M);
  if (M == 1) {
    run.measure({.what = what, .unit = "GB/s", .unit_size = 1e9, .limit = LimitKind::read, .bar = bar}, [&] {
      return static_cast<double>(layers.bytes() * layers.layers()) / layers.seconds(layers.layers());
    });
    return;
  }
  const std::size_t count = M >= 512 ? 2 : M >= 128 ? 4 : 12;
  const LimitKind limit = x_dtype == DType::bf16 ? run.bf16_limit() : LimitKind::f32_peak;
  run.measure({.what = what, .unit = "GFLOP/s", .unit_size = 1e9, .limit = limit, .bar = bar},
              [&] { return layers.flops() * static_cast<double>(count) / layers.seconds(count); });
}

void add_bmm(LimitsRun& run, const std::string& what, DType dtype, bool values, long M, long N, long K) {
  if (!run.wants(what)) return;
  const long heads = 16;
  const std::size_t size = dtype_size(dtype);
  const long b_elements = N * K;
  // M = 1 reads the cache of many layers, beyond the last cache.
  const auto sets = std::max<std::size_t>(
      1, M == 1 ? target::beyond_caches(8) / (static_cast<std::size_t>(heads * b_elements) * size) : 4);
  target::PagedBuffer x(static_cast<std::size_t>(heads * M * K) * size + 4096, true),
      y(static_cast<std::size_t>(heads * M * N) * size + 4096, true);
  target::PagedBuffer b(static_cast<std::size_t>(heads * b_elements) * size * sets + 4096, true);
  fill(run.team(), dtype, x.data(), static_cast<std::size_t>(heads * M * K) * size);
  fill(run.team(), dtype, b.data(), static_cast<std::size_t>(heads * b_elements) * size * sets);
  BmmProblem problem{.dtype = dtype,
                     .y_dtype = dtype,
                     .batch = {1, heads},
                     .M = M,
                     .N = N,
                     .K = K,
                     .x = x.data(),
                     .x_row_stride = K,
                     .x_batch_stride = {0, M * K},
                     .b = b.data(),
                     .b_n_stride = values ? 1 : K,
                     .b_k_stride = values ? N : 1,
                     .b_batch_stride = {0, b_elements},
                     .y = y.data(),
                     .y_row_stride = N,
                     .y_batch_stride = {0, M * N}};
  const BmmPlan plan = plan_bmm(problem, run.options().threads, run.options().isa);
  std::size_t next = 0;
  const std::size_t count = M == 1 ? sets : 4;
  const auto seconds = [&] {
    const target::SpinTeam::Timing timing(run.team());
    const double start = target::seconds_now();
    for (std::size_t i = 0; i < count; ++i) {
      problem.b = b.data() + next++ % sets * static_cast<std::size_t>(heads * b_elements) * size;
      run.team().run_blocks(plan.blocks, [&](unsigned block) { bmm_run(problem, plan, block, block + 1); });
    }
    return (target::seconds_now() - start) / static_cast<double>(count);
  };
  if (M == 1)
    run.measure({.what = what, .unit = "GB/s", .unit_size = 1e9, .limit = LimitKind::read},
                [&] { return static_cast<double>(heads * b_elements) * static_cast<double>(size) / seconds(); });
  else
    run.measure({.what = what,
                 .unit = "GFLOP/s",
                 .unit_size = 1e9,
                 .limit = dtype == DType::bf16 ? run.bf16_limit() : LimitKind::f32_peak},
                [&] { return 2.0 * static_cast<double>(heads * M) * static_cast<double>(b_elements) / seconds(); });
}

void add_pack(LimitsRun& run, DType dtype) {
  const std::string what = fmt::format("linear pack {}", dtype_name(dtype));
  if (!run.wants(what)) return;
  const long N = 32768, K = 2048;
  const std::size_t bytes = packed_bytes(dtype, N, K);
  target::PagedBuffer from(bytes, true), to(bytes, true);
  fill(run.team(), dtype, from.data(), bytes);
  fill(run.team(), dtype, to.data(), bytes);
  run.measure({.what = what, .unit = "GB/s", .unit_size = 1e9, .limit = LimitKind::copy}, [&] {
    const target::SpinTeam::Timing timing(run.team());
    const double start = target::seconds_now();
    run.team().run_blocks(static_cast<unsigned>(panel_count(N) / 4), [&](unsigned block) {
      pack_panels(dtype, from.data(), K, N, K, to.data(), block * 4, block * 4 + 4);
    });
    return 2.0 * static_cast<double>(bytes) / (target::seconds_now() - start);
  });
}

}  // namespace

void add_linear_rows(LimitsRun& run) {
  const bool dot = run.bf16_limit() == LimitKind::bf16_peak;
  for (const Model& model : kModels)
    for (long M : {512L, 128L, 16L}) {
      const double bar = dot ? (M == 512 ? 0.88 : M == 128 ? 0.75 : 0.45) : (M == 512 ? 0.82 : M == 128 ? 0.80 : 0.65);
      add_layers(run, fmt::format("linear bf16 {} M={}", model.name, M), model.merged, DType::bf16, DType::bf16, M,
                 bar);
      add_layers(run, fmt::format("linear bf16 {} M={}, q k v apart", model.name, M), model.apart, DType::bf16,
                 DType::bf16, M, {});
    }
  for (const Model& model : kModels) {
    add_layers(run, fmt::format("linear bf16 {} M=1", model.name), model.merged, DType::bf16, DType::bf16, 1, 0.95);
    add_layers(run, fmt::format("linear bf16 {} M=1, q k v apart", model.name), model.apart, DType::bf16, DType::bf16,
               1, {});
  }
  for (DType w_dtype : {DType::f16, DType::f32})
    for (long M : {512L, 128L, 16L, 1L})
      add_layers(run, fmt::format("linear {} 0.6B M={}", dtype_name(w_dtype), M), kModels[0].merged, w_dtype, w_dtype,
                 M, {});
  for (DType w_dtype : {DType::bf16, DType::f16})
    for (long M : {512L, 16L, 1L})
      add_layers(run, fmt::format("linear f32 x {} 0.6B M={}", dtype_name(w_dtype), M), kModels[0].merged, DType::f32,
                 w_dtype, M, {});
  for (DType dtype : {DType::bf16, DType::f32, DType::f16}) {
    add_bmm(run, fmt::format("bmm {} q k [512,128] x [128,512]", dtype_name(dtype)), dtype, false, 512, 512, 128);
    add_bmm(run, fmt::format("bmm {} p v [512,512] x [512,128]", dtype_name(dtype)), dtype, true, 512, 128, 512);
    add_bmm(run, fmt::format("bmm {} q k [1,128] x [128,4096]", dtype_name(dtype)), dtype, false, 1, 4096, 128);
    add_bmm(run, fmt::format("bmm {} p v [1,4096] x [4096,128]", dtype_name(dtype)), dtype, true, 1, 128, 4096);
  }
  for (DType dtype : {DType::bf16, DType::f16, DType::f32}) add_pack(run, dtype);
}

}  // namespace tilewright::bench

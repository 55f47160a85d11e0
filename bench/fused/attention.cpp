// Attention as nn/ calls it, 16 query heads over 8 key heads of 128: a prompt on an empty cache beside the peak, one
// token over a long cache beside the read bandwidth.
#include "ops/attention/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "fused/row_groups.h"
#include "nn/state.h"

namespace tilewright::bench {
namespace {

constexpr std::int64_t kHeads = 16, kKeyHeads = 8, kWidth = 128, kLayers = 28, kPositions = 4096;

const ops::Attributes& attributes() {
  static const ops::Attributes out{{"scale", 1.0 / std::sqrt(static_cast<double>(kWidth))}};
  return out;
}

// The i32 [1] position, and the mask of `rows` queries from there on over `columns` keys.
std::pair<Tensor, Tensor> position_and_mask(FusedBench& bench, DType dtype, std::int64_t position, std::int64_t rows,
                                            std::int64_t columns) {
  ops::Context context(bench.program.operators, bench.stream());
  const Tensor at = ops::call(context, "full", {},
                              {{"shape", Dims{1}}, {"value", static_cast<double>(position)}, {"dtype", DType::i32}});
  const Tensor mask = ops::call(context, "causal_mask", {at},
                                {{"rows", rows}, {"columns", columns}, {"window", std::int64_t{0}}, {"dtype", dtype}});
  return {at, mask};
}

void add_prefill(FusedBench& bench, DType dtype, std::int64_t tokens, double bar) {
  LimitsRun& run = bench.run;
  const std::string what = fmt::format("attention {} prefill {}", dtype_name(dtype), tokens);
  if (!run.wants(what)) return;
  runtime::Stream& stream = bench.stream();
  const Tensor q = random_tensor(stream, dtype, {1, kHeads, tokens, kWidth}, 1);
  const Tensor k = random_tensor(stream, dtype, {1, kKeyHeads, tokens, kWidth}, 2);
  const Tensor v = random_tensor(stream, dtype, {1, tokens, kKeyHeads, kWidth}, 3).transpose(1, 2);
  const auto [position, mask] = position_and_mask(bench, dtype, 0, tokens, tokens);
  OpWork work(bench.program.operators, stream, "attention", {{q, k, v, mask, position}}, attributes());
  if (work.kernels().empty()) return run.not_run(what, work.why_none());
  const double flops = 2.0 * static_cast<double>(tokens * tokens * kHeads * kWidth);  // the causal half
  run.measure({.what = what,
               .unit = "GFLOP/s",
               .unit_size = 1e9,
               .limit = LimitKind::f32_peak,
               .bar = bar,
               .yardstick = dtype == DType::bf16},
              [&] {
                run.settle();
                return flops / work.queued_seconds(work.kernels()[0]);
              });
  const std::string small_ops = what + ", launches";
  run.compare({.what = small_ops, .unit = "ms", .unit_size = 1e-3},
              {{work.kernels()[0]->name, [&] { return work.queued_seconds(work.kernels()[0]); }},
               {fmt::format("{} launches", work.launches()), [&] { return work.queued_seconds(nullptr); }}});
}

void add_decode(FusedBench& bench, DType dtype) {
  LimitsRun& run = bench.run;
  const std::string what = fmt::format("attention {} decode at {}, {} layers", dtype_name(dtype), kPositions, kLayers);
  if (!run.wants(what)) return;
  runtime::Stream& stream = bench.stream();
  const Tensor q = random_tensor(stream, dtype, {1, kHeads, 1, kWidth}, 1);
  // As the cache has it: room for more, the call sees the positions so far.
  const auto [position, mask] = position_and_mask(bench, dtype, kPositions - 1, 1, kPositions);
  std::vector<std::vector<Tensor>> sets;
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const auto cache = [&](std::uint64_t seed) {
      return random_tensor(stream, dtype, {1, kKeyHeads, kPositions + nn::kBucket, kWidth}, seed)
          .slice(2, 0, kPositions);
    };
    sets.push_back({q, cache(1), cache(2), mask, position});
  }
  OpWork work(bench.program.operators, stream, "attention", std::move(sets), attributes());
  if (work.kernels().empty()) return run.not_run(what, work.why_none());
  const double bytes =
      2.0 * static_cast<double>(kKeyHeads * kPositions * kWidth) * static_cast<double>(dtype_size(dtype));
  run.measure({.what = what, .unit = "GB/s", .unit_size = 1e9, .limit = LimitKind::read, .bar = 0.85}, [&] {
    run.settle();
    return bytes / work.queued_seconds(work.kernels()[0]);
  });
}

}  // namespace

void add_attention_rows(FusedBench& bench) {
  for (const DType dtype : {DType::bf16, DType::f32}) {
    add_prefill(bench, dtype, 512, 0.5);
    add_prefill(bench, dtype, 2048, 0.6);
  }
  for (const DType dtype : {DType::bf16, DType::f32}) add_decode(bench, dtype);
}

}  // namespace tilewright::bench

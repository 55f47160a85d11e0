// Kernels against the small ops that they stand for, shapes of Qwen3-1.7B. What is selected carries the bar; other
// kernels of the operator stand beside it.
#include <fmt/format.h>

#include "fused/row_groups.h"

namespace tilewright::bench {
namespace {

struct Bar {
  std::int64_t rows;
  std::optional<double> at_least;
};

void add_rows(FusedBench& bench, const std::string& op, const std::string& what, const Bar& bar,
              const std::function<std::vector<Tensor>()>& inputs, const ops::Attributes& attributes) {
  LimitsRun& run = bench.run;
  if (!run.wants_any({what, what + ", derived", what + ", tile"})) return;
  OpWork work(bench.program.operators, bench.stream(), op, {inputs()}, attributes);
  if (work.kernels().empty()) return run.not_run(what, work.why_none());
  for (const ops::Candidate* kernel : work.kernels()) {
    const bool selected = kernel == work.kernels()[0];
    RowSpec spec{.what = what, .unit = "us", .unit_size = 1e-6};
    if (selected) {
      spec.bar = bar.at_least;
      spec.claimed_only = bar.at_least == 1.0;
    } else {
      spec.what += fmt::format(", {}", ops::candidate_kind_name(kernel->kind));
    }
    run.settle();
    run.compare(spec, {{kernel->name, [&] { return work.queued_seconds(kernel); }},
                       {fmt::format("{} launches", work.launches()), [&] { return work.queued_seconds(nullptr); }}});
  }
}

}  // namespace

void add_decomposition_rows(FusedBench& bench) {
  const auto random = [&](const Shape& shape) { return random_tensor(bench.stream(), DType::bf16, shape); };
  for (const Bar& bar : {Bar{512, 5.0}, Bar{128, {}}, Bar{16, {}}, Bar{1, {}}})
    add_rows(bench, "rms_norm", fmt::format("rms_norm bf16 {}x2048, launches", bar.rows), bar,
             [&] {
               return std::vector{random({1, bar.rows, 2048}), random({2048})};
             },
             {{"eps", 1e-6}});
  for (const Bar& bar : {Bar{512, 6.0}, Bar{128, {}}, Bar{16, {}}, Bar{1, 1.0}})
    add_rows(bench, "qk_norm_rope", fmt::format("qk_norm_rope bf16 S={}, launches", bar.rows), bar,
             [&] {
               return std::vector{
                   random({1, bar.rows, 16 * 128}), random({1, bar.rows, 8 * 128}), random({128}), random({128}),
                   random({1, bar.rows, 128}),      random({1, bar.rows, 128})};
             },
             {{"eps", 1e-6}});
}

}  // namespace tilewright::bench

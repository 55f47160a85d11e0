// Decode of assets/bard, which is bound by submission: each arm beside a bare loop over the model's products.
#include <fmt/format.h>

#include "arms/bare_loop.h"
#include "arms/row_groups.h"

namespace tilewright::bench {
namespace {

constexpr int kSteps = 32;  // a sample is some 2 to 20 ms
constexpr int kWarm = 4;
constexpr std::int64_t kContext = 64;
constexpr double kLaunchBar = 1.5e-6;

std::optional<double> bar_of(const measure::Arm& kind) {
  if (kind.name() == "fused+graph") return 2;
  if (kind.name() == "graph") return 3.5;
  return {};
}

}  // namespace

void add_bard_rows(ArmsBench& bench) {
  LimitsRun& run = bench.run;
  const auto row_name = [](const measure::Arm& kind) { return fmt::format("bard decode a token, {}", kind.name()); };
  std::vector<std::string> names = {"bard decode a token, bare loop over its products"};
  for (const measure::Arm& kind : bench.kinds()) names.push_back(row_name(kind));
  if (!run.wants_any(names)) return;
  const engine::SessionOptions options = arm_options(bench.options.bard, "host", run.options().threads);
  const auto loaded = load_for_arms(bench.program, options);
  std::vector<std::unique_ptr<ArmRun>> arms;
  std::vector<LimitsRun::Rated> rows;
  for (const measure::Arm& kind : bench.kinds()) {
    arms.push_back(std::make_unique<ArmRun>(loaded, options, kind, bench.options.fuse, kContext + kSteps + 1));
    rows.push_back({{.what = row_name(kind), .unit = "us", .unit_size = 1e-6, .bar = bar_of(kind), .at_most = true},
                    [&run, arm = arms.back().get()] {
                      run.settle();
                      return arm->decode_seconds(kSteps, kContext, kWarm) / kSteps;
                    }});
  }
  engine::Session watched(loaded, options);
  watched.begin(1, 1);
  BareLoop bare(watched, run.team());
  const auto times = run.compare_all({.what = names[0], .unit = "us", .unit_size = 1e-6},
                                     {"bare loop", [&] { return bare.seconds(kSteps, kWarm) / kSteps; }}, rows);
  if (times.empty()) return;
  fmt::print("bare loop: {} products in {} phases, {:.1f} MB, {:.0f} GB/s\n", bare.products(), bare.phases(),
             bare.bytes() / 1e6, bare.bytes() / measure::median(times[0]) / 1e3);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const measure::Arm kind = bench.kinds()[i];
    const long launches = arms[i]->launches_per_token(kContext);
    fmt::print("{}: {} launches a token\n", kind.name(), launches);
    if (kind.name() != "eager") continue;
    std::size_t round = 0;
    run.record({.what = row_name(kind) + ", beyond bare, a launch",
                .unit = "us",
                .unit_size = 1e-6,
                .bar = kLaunchBar * 1e6,
                .at_most = true},
               static_cast<int>(times[0].size()), [&] {
                 const std::size_t at = std::min(round++, times[0].size() - 1);
                 return 1e-6 * (times[i + 1][at] - times[0][at]) / static_cast<double>(launches);
               });
  }
}

}  // namespace tilewright::bench

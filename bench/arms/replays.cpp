// What replays must not do: take more memory, give other tokens, or keep the submitting thread busy.
#include <fmt/format.h>

#include "arms/row_groups.h"
#include "base/error.h"

namespace tilewright::bench {
namespace {

constexpr int kReplays = 10000, kRun = 500;  // then again from the start
constexpr std::int64_t kContext = 8;

struct Case {
  const char *name, *shape;
  std::int64_t context;
  int steps;
};

}  // namespace

void add_replay_rows(ArmsBench& bench) {
  LimitsRun& run = bench.run;
  const Case cases[] = {{"bard", bench.options.bard.c_str(), 64, 128}, {"0.6B", "Qwen3-0.6B", 64, 8}};
  for (const Case& c : cases) {
    std::shared_ptr<const engine::LoadedModel> loaded;
    const engine::SessionOptions options = arm_options(c.shape, "host", run.options().threads);
    for (const measure::Arm& kind : bench.kinds()) {
      if (!kind.graph) continue;
      const std::string share = fmt::format("submission's share, {} {} decode loop", kind.name(), c.name),
                        grown = fmt::format("10,000 replays, {} {}: reserved grew", kind.name(), c.name),
                        other = fmt::format("10,000 replays, {} {}: other tokens", kind.name(), c.name);
      const bool replays = c.shape == bench.options.bard && run.wants_any({grown, other});
      if (!replays && !run.wants(share)) continue;
      if (!loaded) loaded = load_for_arms(bench.program, options);
      ArmRun arm(loaded, options, kind, bench.options.fuse,
                 std::max<std::int64_t>(kContext + kRun, c.context + c.steps) + 1);
      run.record({.what = share, .unit = "%", .unit_size = 0.01, .bar = 5, .at_most = true}, run.options().rounds, [&] {
        run.settle();
        const double whole = arm.decode_seconds(c.steps, c.context);
        return arm.submission_seconds(c.steps, c.context) / whole;
      });
      if (!replays) continue;
      std::vector<std::int64_t> tokens;
      double different = 0, reserved = 0;
      for (int i = 0; i < kReplays; ++i) {
        const int at = i % kRun;
        if (at == 0) arm.rewind(kContext);
        arm.runner().step();
        const std::int64_t token = arm.runner().read_token();
        if (i < kRun) {
          tokens.push_back(token);
          reserved = static_cast<double>(arm.session().stream().memory_stats().reserved);
        } else {
          different += token != tokens[static_cast<std::size_t>(at)];
        }
      }
      const double growth = static_cast<double>(arm.session().stream().memory_stats().reserved) - reserved;
      run.record({.what = grown, .unit = "bytes", .bar = 0, .at_most = true}, 1, [&] { return growth; });
      run.record({.what = other, .unit = "", .bar = 0, .at_most = true}, 1, [&] { return different; });
    }
  }
}

}  // namespace tilewright::bench

// Decode of Qwen3 shapes with random weights: each arm beside the read bandwidth, at a short and at a long context.
#include <fmt/format.h>

#include "arms/row_groups.h"
#include "support/model_run.h"

namespace tilewright::bench {
namespace {

struct Model {
  const char *name, *shape;
  int steps;   // a sample is some 100 ms
  double bar;  // fused+graph at the short context
};
constexpr Model kModels[] = {{"0.6B", "Qwen3-0.6B", 8, 0.85}, {"1.7B", "Qwen3-1.7B", 4, 0.90}};
constexpr std::int64_t kContexts[] = {64, 4096};

}  // namespace

void add_decode_rows(ArmsBench& bench) {
  LimitsRun& run = bench.run;
  for (const Model& model : kModels) {
    std::shared_ptr<const engine::LoadedModel> loaded;
    const engine::SessionOptions options = arm_options(model.shape, "host", run.options().threads);
    const Work work(bench.program.families, model.shape, DType::bf16);
    for (const std::int64_t context : kContexts)
      for (const measure::Arm& kind : bench.kinds()) {
        const std::string name = fmt::format("{} decode bf16 {} context {}", kind.name(), model.name, context);
        if (!run.wants(name)) continue;
        if (!loaded) loaded = load_for_arms(bench.program, options);
        ArmRun arm(loaded, options, kind, bench.options.fuse, context + model.steps + 1);
        arm.fill_cache();
        run.measure(
            {.what = name,
             .unit = "tok/s",
             .limit = LimitKind::read,
             .bar = kind.name() == "fused+graph" && context == 64 ? std::optional(model.bar) : std::nullopt},
            [&] {
              run.settle();
              return model.steps / arm.decode_seconds(model.steps, context);
            },
            work.decode_bytes(static_cast<double>(context) + (model.steps - 1) / 2.0));
      }
  }
}

}  // namespace tilewright::bench

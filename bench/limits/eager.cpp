// Whole eager passes of Qwen3 shapes with random weights: prefill beside the peak, decode beside the bandwidth.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "limits/limits_run.h"
#include "support/launch_timer.h"
#include "support/model_run.h"

namespace tilewright::bench {
namespace {

struct Model {
  const char *name, *shape;
  double prefill_bar_f32, prefill_bar_dot, decode_bar;
  int decode_steps;  // a sample is some 100 ms
};
constexpr Model kModels[] = {{"0.6B", "Qwen3-0.6B", 0.65, 0.50, 0.75, 8}, {"1.7B", "Qwen3-1.7B", 0.75, 0.65, 0.85, 4}};
constexpr int kPrompts[] = {512, 128};
constexpr int kContext = 64, kLongContext = 4096;

// The threads of the probes spin for some milliseconds after each reading; they must not share processors with the
// work.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(15)); }

std::string prefill_name(const Model& model, int tokens) {
  return fmt::format("eager prefill bf16 {} {} tokens", model.name, tokens);
}
std::string decode_name(const Model& model, int context) {
  return fmt::format("eager decode bf16 {} context {}", model.name, context);
}

void add_model_rows(LimitsRun& run, const Program& program, const Model& model) {
  std::vector<std::string> names = {decode_name(model, kContext)};
  for (const int tokens : kPrompts) names.push_back(prefill_name(model, tokens));
  if (!run.wants_any(names)) return;
  ModelRun engine(program, "host", run.options().threads, model.shape, kPrompts[0]);
  const bool dot = run.bf16_limit() == LimitKind::bf16_peak;
  for (const int tokens : kPrompts)
    run.measure({.what = prefill_name(model, tokens),
                 .unit = "GFLOP/s",
                 .unit_size = 1e9,
                 .limit = run.bf16_limit(),
                 .bar = dot ? model.prefill_bar_dot : model.prefill_bar_f32},
                [&] {
                  settle();
                  return engine.work.prefill_flops(tokens) / engine.prefill_seconds(tokens);
                });
  run.measure(
      {.what = decode_name(model, kContext), .unit = "tok/s", .limit = LimitKind::read, .bar = model.decode_bar},
      [&] {
        settle();
        return model.decode_steps / engine.decode_seconds(model.decode_steps, kContext);
      },
      engine.work.decode_bytes(kContext + (model.decode_steps - 1) / 2.0));
}

void add_long_context(LimitsRun& run, const Program& program, const Model& model) {
  const std::string name = decode_name(model, kLongContext);
  if (!run.wants(name)) return;
  ModelRun engine(program, "host", run.options().threads, model.shape, kLongContext + model.decode_steps);
  engine.fill_cache();
  run.measure(
      {.what = name, .unit = "tok/s", .limit = LimitKind::read},
      [&] {
        settle();
        return model.decode_steps / engine.decode_seconds(model.decode_steps, kLongContext);
      },
      engine.work.decode_bytes(kLongContext + (model.decode_steps - 1) / 2.0));
  LaunchTimer timer(engine.stream());
  ops::Context watched(engine.operators(), engine.stream(), {}, &timer);
  for (int i = 0; i < 8; ++i) {
    engine.decode_seconds(watched, 1, kLongContext);
    timer.finish_pass();
  }
  run.note(name + ", where the time goes", timer.table(16), timer.json());
}

}  // namespace

void add_eager_rows(LimitsRun& run) {
  const Program program;
  for (const Model& model : kModels) add_model_rows(run, program, model);
  add_long_context(run, program, kModels[0]);
}

}  // namespace tilewright::bench

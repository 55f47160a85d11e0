// Whole passes with kernels: beside their limits, their time outside linear layers beside that of eager passes, and
// what is switched on by itself against none.
#include <fmt/format.h>

#include "engine/fuse_list.h"
#include "engine/tune.h"
#include "fused/row_groups.h"
#include "support/launch_timer.h"
#include "support/model_run.h"
#include "support/pass_rows.h"
#include "tile/binary/compiler.h"

namespace tilewright::bench {
namespace {

struct Model {
  const char *name, *shape;
  double prefill_bar_f32, prefill_bar_dot;
  int decode_steps;
};
constexpr Model kModels[] = {{"0.6B", "Qwen3-0.6B", 0.75, 0.72, 8}, {"1.7B", "Qwen3-1.7B", 0.79, 0.80, 4}};

// A pass with some switches, as a whole and by launches. Its parts are those of bench/where.
class Pass {
 public:
  Pass(ModelRun& engine, const ops::Switches& switches)
      : timer_(engine.stream()),
        engine_(engine),
        plain_(engine.operators(), engine.stream(), switches),
        watched_(engine.operators(), engine.stream(), switches, &timer_) {}

  // tokens > 0: a prompt of so many; else one token at `context` positions.
  struct Work {
    std::int64_t tokens = 0, context = 0;
    int passes = 1;  // in a sample
  };
  double whole_seconds(const Work& work) { return run(plain_, work); }
  // Seconds of the launches of one pass, and of the bubbles behind them: {of linear layers, of all others}.
  std::pair<double, double> parts(const Work& work) {
    double linear = 0, others = 0;
    for (int i = 0; i < work.passes; ++i) {
      run(watched_, {work.tokens, work.context, 1});
      timer_.finish_pass();
      for (const auto& [op, row] : timer_.last()) (op == "linear" ? linear : others) += row.seconds;
    }
    return {linear / work.passes, others / work.passes};
  }
  const LaunchTimer& timer() const { return timer_; }
  void choose_by(ops::Chooser& chooser) {
    plain_.set_chooser(&chooser);
    watched_.set_chooser(&chooser);
  }
  void forget() { timer_.clear(); }

 private:
  double run(ops::Context& context, const Work& work) {
    if (!work.tokens) return engine_.decode_seconds(context, work.passes, work.context) / work.passes;
    double seconds = 0;
    for (int i = 0; i < work.passes; ++i) seconds += engine_.prefill_seconds(context, work.tokens);
    return seconds / work.passes;
  }

  LaunchTimer timer_;
  ModelRun& engine_;
  ops::Context plain_, watched_;
};

void add_outside_linear(FusedBench& bench, ModelRun& engine, const Model& model, const std::string& regime,
                        const Pass::Work& work, double bar) {
  LimitsRun& run = bench.run;
  const std::string what = fmt::format("outside linear {} {}", model.name, regime);
  if (!run.wants(what)) return;
  Pass eager(engine, {}), fused(engine, ops::Switches::parse(engine.operators(), bench.options.fuse));
  run.settle();
  run.compare(
      {.what = what, .unit = "ms", .unit_size = 1e-3, .bar = bar},
      {{"fused", [&] { return fused.parts(work).second; }}, {"eager", [&] { return eager.parts(work).second; }}});
  for (Pass* pass : {&eager, &fused})
    run.note(fmt::format("{}, {}", what, pass == &eager ? "eager" : "fused"), pass->timer().table(12),
             pass->timer().json());
}

void add_model(FusedBench& bench, const Model& model) {
  LimitsRun& run = bench.run;
  const long compiled_before = tile::compilations();
  const bool ran = add_pass_rows(run, bench.program,
                                 {.title = "fused",
                                  .fuse = bench.options.fuse,
                                  .name = model.name,
                                  .shape = model.shape,
                                  .decode_steps = model.decode_steps,
                                  .prefill = {{512, model.prefill_bar_f32, model.prefill_bar_dot}},
                                  .decode = {{64, {}}, {4096, 0.8, true}}});
  const long compiled = tile::compilations() - compiled_before;
  if (ran)
    run.record({.what = fmt::format("fused passes of {}, kernels compiled", model.name),
                .unit = "",
                .bar = 0,
                .at_most = true},
               1, [&] { return static_cast<double>(compiled); });
  const std::string outside = fmt::format("outside linear {} ", model.name);
  if (!run.wants_any({outside + "prefill 512", outside + "decode at 64"})) return;
  ModelRun engine(bench.program, "host", run.options().threads, model.shape, 512);
  add_outside_linear(bench, engine, model, "prefill 512", {.tokens = 512}, 3);
  add_outside_linear(bench, engine, model, "decode at 64", {.context = 64, .passes = 4}, 4);
}

// Tokens a second of `--fuse auto` against none. `bard` is the model in assets/, with its weights.
void add_automatic(FusedBench& bench, const std::string& name, const std::string& shape) {
  LimitsRun& run = bench.run;
  struct Regime {
    std::string text;
    Pass::Work work;
  };
  const std::vector<Regime> regimes = {{"prefill 16", {.tokens = 16, .passes = 4}},
                                       {"prefill 128", {.tokens = 128, .passes = 2}},
                                       {"prefill 512", {.tokens = 512}},
                                       {"decode at 64", {.context = 64, .passes = 8}},
                                       {"decode at 960", {.context = 960, .passes = 8}}};
  const auto row_name = [&](const Regime& regime) {
    return fmt::format("--fuse {} {} {}", bench.options.automatic, name, regime.text);
  };
  std::vector<std::string> names;
  for (const Regime& regime : regimes) names.push_back(row_name(regime));
  if (!run.wants_any(names)) return;
  const engine::FuseList list = engine::parse_fuse_list(bench.options.automatic);
  ModelRun engine(bench.program, "host", run.options().threads, shape, 1024);
  engine.fill_cache();
  ops::Tuner tuner(ops::TuningStore({}, engine::tuning_device(engine.device())));  // a first run, measured anew
  Pass none(engine, {}), automatic(engine, ops::Switches::parse(bench.program.operators, list.composites));
  if (list.automatic) {
    automatic.choose_by(tuner);
    for (const Regime& regime : regimes)
      engine::prepare_calls(tuner, engine.context(), engine.model(),
                            {1, regime.work.tokens ? regime.work.tokens : regime.work.context,
                             regime.work.tokens ? regime.work.tokens : regime.work.context + 16});
    fmt::print("{}: {} kernels measured for {} kinds of calls in {:.2f} s\n", name, tuner.report().kernels,
               tuner.report().measured, tuner.report().seconds);
  }
  for (const Regime& regime : regimes) {
    run.settle();
    run.compare({.what = row_name(regime), .unit = "ms", .unit_size = 1e-3, .bar = 1, .claimed_only = true},
                {{bench.options.automatic, [&] { return automatic.whole_seconds(regime.work); }},
                 {"none", [&] { return none.whole_seconds(regime.work); }}});
  }
}

}  // namespace

void add_model_rows(FusedBench& bench) {
  const auto wanted = [&](const char* name) { return bench.options.shapes.find(name) != std::string::npos; };
  for (const Model& model : kModels)
    if (wanted(model.name)) add_model(bench, model);
  if (wanted("bard")) add_automatic(bench, "bard", bench.options.bard);
  for (const Model& model : kModels)
    if (wanted(model.name)) add_automatic(bench, model.name, model.shape);
}

}  // namespace tilewright::bench

#include "measure/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "engine/fuse_list.h"
#include "measure/case_run.h"
#include "measure/fingerprint.h"
#include "measure/statistics.h"

namespace tilewright::measure {
namespace {

[[noreturn]] void refuse(const std::string& what, const char* where, const std::string& expected,
                         const std::string& found, const std::string& fix = {}) {
  fail({.what = what, .where = where, .expected = expected, .found = found, .fix = fix});
}

void check_list(const std::vector<std::int64_t>& list, const char* flag) {
  if (list.empty()) refuse("a list is empty", flag, "numbers from 1, separated by commas", "none");
  for (const std::int64_t value : list)
    if (value < 1) refuse("a length is not positive", flag, "at least 1", fmt::format("{}", value));
}

void check_options(const Program& program, const BenchOptions& o) {
  ops::Switches::parse(program.operators, engine::parse_fuse_list(o.model.fuse).composites);
  check_list(o.seq, "--seq");
  check_list(o.gen, "--gen");
  check_list(o.batch, "--batch");
  if (o.prompt_len < 1) refuse("the prompt is empty", "--prompt-len", "at least 1", fmt::format("{}", o.prompt_len));
  if (o.iters < 1)
    refuse("there is no round to measure", "--iters", "at least 1; 6 and more for an interval",
           fmt::format("{}", o.iters));
  if (o.warmup < 0) refuse("the number of warm-ups is negative", "--warmup", "at least 0", fmt::format("{}", o.warmup));
  if (o.model.load.layers && *o.model.load.layers < 1)
    refuse("a model has no such number of layers", "--layers", "at least 1", fmt::format("{}", *o.model.load.layers));
}

void check_lengths(const BenchOptions& o, Regime regime, const Work& work) {
  const std::int64_t context = work.config.context();
  const std::string has = fmt::format("at most {} positions, the context of {}", context, work.name);
  if (regime == Regime::prefill) {
    for (const std::int64_t seq : o.seq)
      if (seq > context)
        refuse("the prompt is longer than the model's context", "--seq", has, fmt::format("{}", seq),
               "use a smaller --seq");
    return;
  }
  for (const std::int64_t gen : o.gen)
    if (o.prompt_len > context || gen > context - o.prompt_len)
      refuse("prompt and new tokens are longer than the model's context", "--gen", has,
             fmt::format("{} after a prompt of {}", gen, o.prompt_len), "use a smaller --gen or --prompt-len");
}

Work work_of(const Program& program, const engine::SessionOptions& model, std::optional<DType> dtype) {
  Work out(program.families, model.dummy_shape.empty() ? model.model.string() : model.dummy_shape, dtype,
           model.load.layers);
  if (!model.name.empty()) out.name = model.name;
  return out;
}

std::vector<Pass> passes_of(const BenchOptions& o, Regime regime, std::int64_t vocabulary) {
  std::vector<Pass> out;
  for (const std::int64_t length : regime == Regime::prefill ? o.seq : o.gen)
    for (const std::int64_t batch : o.batch) {
      Pass pass{.regime = regime, .batch = batch};
      pass.prompt = regime == Regime::prefill ? length : o.prompt_len;
      pass.steps = regime == Regime::prefill ? 0 : length;
      pass.ids = random_prompt(vocabulary, batch, pass.prompt, o.seed);
      out.push_back(std::move(pass));
    }
  return out;
}

std::string sentence(const nn::DecoderConfig& c, const models::ModelInfo& info) {
  return fmt::format(
      "{} decoder: {} layers, hidden size {}, {} heads with {} for keys and values of {}, vocabulary {}, "
      "context {}",
      info.family, info.layers, c.hidden_size, c.heads, c.kv_heads, c.head_dim, info.vocab_size, info.context);
}

BenchResult::ModelFacts facts_of(const engine::SessionOptions& options, const engine::LoadedModel& loaded,
                                 const Work& work) {
  const models::ModelInfo& info = loaded.model().info();
  return {.name = work.name,
          .family = info.family,
          .description = sentence(work.config, info),
          .dtype = std::string(dtype_name(info.dtype)),
          .layers = info.layers,
          .cut = info.layers < work.published_layers,
          .dummy = !options.dummy_shape.empty(),
          .weight_bytes = info.weight_bytes};
}

void describe(BenchResult& out, const BenchOptions& o, const engine::LoadedModel& loaded, const Work& work) {
  out.model = facts_of(o.model, loaded, work);
  out.fingerprint = read_fingerprint(loaded.device().threads());
  out.settings = {{"batch", o.batch},
                  {"prompt_len", o.prompt_len},
                  {"gen", o.gen},
                  {"seq", o.seq},
                  {"warmup", o.warmup},
                  {"iters", o.iters},
                  {"rounds", o.iters},
                  {"threads", loaded.device().threads()},
                  {"device", loaded.device().name()},
                  {"isa", out.fingerprint.isa},
                  {"seed", o.seed},
                  {"arms", o.arms},
                  {"fuse", fuse_list({true, false}, o.model.fuse)}};
  out.seeds["prompt"] = o.seed;
  if (out.model.dummy) out.seeds["weights"] = o.model.load.seed;
}

void warn(BenchResult& out, const BenchOptions& o, const engine::LoadedModel& loaded) {
  for (const std::string& warning : loaded.model().info().warnings) out.warnings.push_back(warning);
  for (const std::string& note : loaded.model().info().notes) out.warnings.push_back(note);
  if (static_cast<std::size_t>(o.iters) < kLeastSamples)
    out.warnings.push_back(
        fmt::format("{} rounds: no interval and no claim under {} (--iters)", o.iters, kLeastSamples));
  if (!loaded.device().computes())
    out.warnings.push_back(
        fmt::format("device {} computes nothing: outputs were not compared, and times are those of submitting",
                    loaded.device().name()));
  const Fingerprint& f = out.fingerprint;
  if (!f.load_average.empty() && f.load_average[0] > 0.5 * f.threads)
    out.warnings.push_back(fmt::format("other work was running: load average {:.2f}", f.load_average[0]));
  if (f.governor != "performance" && f.governor != "unknown")
    out.warnings.push_back("the processor's clock follows governor " + f.governor);
}

using Loaded = std::shared_ptr<const engine::LoadedModel>;

// An arm whose work faults takes its device with it: the others are measured on a new one.
CaseOutcome run_on_sound_devices(CaseRequest request, Loaded& loaded, const std::function<Loaded()>& load) {
  const std::vector<Arm> all = request.arms;
  std::map<std::string, ArmResult> broken;
  CaseOutcome out;
  while (true) {
    request.loaded = loaded;
    out = run_case(request);
    if (!out.lost) break;
    request.loaded.reset();
    loaded.reset();
    loaded = load();
    if (!out.lost_by) break;
    const Arm culprit = request.arms[*out.lost_by];
    broken[culprit.name()] = std::move(out.result.arms[*out.lost_by]);
    request.arms.erase(request.arms.begin() + static_cast<std::ptrdiff_t>(*out.lost_by));
    out.warnings.clear();
    if (request.arms.empty()) {
      out.result.arms.clear();
      break;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const auto found = broken.find(all[i].name()); found != broken.end())
      out.result.arms.insert(out.result.arms.begin() + static_cast<std::ptrdiff_t>(i), std::move(found->second));
  return out;
}

RegimeChoice checked_regime(const Program& program, const BenchOptions& options) {
  check_options(program, options);
  parse_arms(options.arms);
  const Work stated = work_of(program, options.model, options.model.load.dtype);
  RegimeChoice choice =
      choose_regime(options.regime, {.model = stated.name,
                                     .block_diffusion = stated.block_diffusion,
                                     .weight_bytes = static_cast<std::uint64_t>(stated.weight_bytes()),
                                     .memory_bytes = read_fingerprint(0).memory});
  if (choice.regime == Regime::diffusion)
    refuse("diffusion is not measured yet", "--regime", "prefill or decode", "diffusion");
  check_lengths(options, choice.regime, stated);
  return choice;
}

}  // namespace

void check_bench_settings(const Program& program, const BenchOptions& options) {
  check_options(program, options);
  parse_arms(options.arms);
}

void check_bench_options(const Program& program, const BenchOptions& options) { checked_regime(program, options); }

BenchResult::ModelFacts model_facts(const Program& program, const engine::SessionOptions& options,
                                    const engine::LoadedModel& loaded) {
  return facts_of(options, loaded, work_of(program, options, loaded.model().info().dtype));
}

BenchResult run_bench(const Program& program, const BenchOptions& options) {
  const RegimeChoice choice = checked_regime(program, options);
  const std::vector<Arm> arms = parse_arms(options.arms);
  const auto load = [&] {
    engine::SessionOptions model = options.model;
    if (options.progress && !model.load.progress)
      model.load.progress = [&](std::uint64_t done, std::uint64_t total) {
        options.progress({"load", "", "", done, total});
      };
    return std::make_shared<const engine::LoadedModel>(program, model);
  };
  std::shared_ptr<const engine::LoadedModel> loaded = options.loaded ? options.loaded : load();
  const Work work = work_of(program, options.model, loaded->model().info().dtype);

  BenchResult out;
  out.regime = regime_name(choice.regime);
  out.regime_reason = choice.reason;
  describe(out, options, *loaded, work);
  warn(out, options, *loaded);
  std::unique_ptr<LimitsHere> limits;
  if (options.read_limits && loaded->device().name().starts_with("host")) {
    if (options.progress) options.progress({"limits", "", "", 0, 0});
    try {
      limits = std::make_unique<LimitsHere>(loaded->device().threads());
    } catch (const Error& e) {
      out.warnings.push_back("limits were not read: " + e.text().what);
    }
  }
  for (const Pass& pass : passes_of(options, choice.regime, loaded->model().info().vocab_size)) {
    if (!out.incomplete.empty()) break;
    CaseOutcome outcome = run_on_sound_devices(
        {.pass = pass, .arms = arms, .loaded = {}, .work = &work, .limits = limits.get(), .options = &options}, loaded,
        load);
    out.incomplete = outcome.incomplete;
    for (std::string& warning : outcome.warnings)
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end())
        out.warnings.push_back(std::move(warning));
    out.cases.push_back(std::move(outcome.result));
  }
  if (limits) out.limits = limits->median();
  return out;
}

}  // namespace tilewright::measure

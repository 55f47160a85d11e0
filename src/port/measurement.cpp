#include "port/measurement.h"

#include <fmt/format.h>

#include "base/error.h"
#include "measure/bench_json.h"
#include "port/arms_progress.h"
#include "port/model_name.h"

namespace tilewright::port {
namespace {

constexpr const char* kInterrupted = "interrupted before anything was measured";

// "passage: 8.31, at most 7.07; text: not valid UTF-8 …"
std::string failed_checks(const engine::SmokeResult& gate) {
  std::string out;
  for (const engine::SmokeCheck& check : gate.checks) {
    if (check.passed) continue;
    out += (out.empty() ? "" : "; ") + check.name + ": ";
    out += check.value && check.bound ? fmt::format("{:.4g}, at most {:.4g}", *check.value, *check.bound)
                                      : in_one_line(check.note);
  }
  return out;
}

const Json& at(const Json& object, const char* key) {
  static const Json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::vector<std::string> arms_with(const Json& bench, std::string_view status) {
  std::vector<std::string> out;
  for (const Json& of_case : at(bench, "cases"))
    for (const Json& arm : at(of_case, "arms"))
      if (at(arm, "status") == status) out.push_back(at(arm, "name").get<std::string>());
  return out;
}

bool gate_failed(const Json& bench) {
  const Json& gate = at(at(bench, "gate"), "smoke");
  return at(gate, "ran") == true && at(gate, "passed") == false;
}

bool was_interrupted(const Json& bench) {
  const Json& incomplete = at(bench, "incomplete");
  return incomplete.is_string() && incomplete.get<std::string>().starts_with("interrupted");
}

}  // namespace

Measurement::Measurement(const Program& program, const MeasurementOptions& options, Progress& progress)
    : program_(program), options_(options), progress_(progress) {
  measure::check_bench_options(program, options.bench);
  result_.incomplete = "nothing was measured";
  const engine::SessionOptions& model = options.bench.model;
  result_.model.dummy = !model.dummy_shape.empty();
  result_.model.name = result_.model.dummy  ? model.dummy_shape
                       : model.name.empty() ? model_name(model.model)
                                            : model.name;
}

std::string Measurement::no_gate() const { return result_.model.dummy ? "random weights (--weights dummy)" : ""; }

void Measurement::skip_gate(const std::string& why) {
  gate_ = {};
  gate_.skipped = why;
  result_.smoke = gate_;
}

void Measurement::reuse_gate(const engine::SmokeResult& gate) {
  gate_ = gate;
  result_.smoke = gate;
  note_warnings();
}

void Measurement::note_warnings() {
  for (const engine::SmokeCheck& check : gate_.checks)
    if (check.warning) result_.warnings.push_back("smoke gate: " + check.note);
}

std::shared_ptr<const engine::LoadedModel> Measurement::loaded() {
  if (loaded_) return loaded_;
  engine::SessionOptions model = options_.bench.model;
  model.load.progress = [this](std::uint64_t done, std::uint64_t total) {
    progress_.update(done, total, "loading weights");
  };
  loaded_ = std::make_shared<const engine::LoadedModel>(program_, model);
  for (const std::string& warning : loaded_->model().info().warnings) progress_.note("warning: " + warning);
  describe();
  progress_.update(0, 0);
  return loaded_;
}

void Measurement::describe() { result_.model = measure::model_facts(program_, options_.bench.model, *loaded_); }

StepOutcome Measurement::run_gate() {
  gate_ = {};
  std::string failure;
  try {
    engine::SessionOptions plain = options_.bench.model;
    plain.fuse = "none";
    plain.fuse_file.clear();
    engine::Session session(loaded(), plain);
    gate_ = engine::smoke_gate(session, {.model = plain.model,
                                         .goldens = options_.goldens,
                                         .cut = plain.load.layers.has_value(),
                                         .interrupted = options_.interrupted,
                                         .doing = [this](std::string_view what) { progress_.update(0, 0, what); }});
  } catch (const Error& error) {
    gate_.checks.push_back({.name = "load", .passed = false, .note = error.what()});
  }
  if (gate_.interrupted) gate_.checks.clear();  // some looked at a part only
  result_.smoke = gate_;
  if (gate_.interrupted) {
    result_.incomplete = kInterrupted;
    return {StepStatus::interrupted, "", true};
  }
  if (!gate_.passed()) {
    result_.incomplete = "the smoke gate failed: nothing was measured";
    return {StepStatus::failed, failed_checks(gate_), true};
  }
  note_warnings();
  return {StepStatus::done, fmt::format("{} checks passed", gate_.checks.size()), false};
}

StepOutcome Measurement::run_arms() {
  measure::BenchOptions options = options_.bench;
  options.interrupted = options_.interrupted;
  ArmsProgress arms(options);
  options.progress = [&](const measure::BenchProgress& at) {
    const ArmsProgress::State state = arms.advance(at);
    progress_.update(state.done, state.total, state.doing);
  };
  const std::vector<std::string> warnings = result_.warnings;
  measure::BenchResult result;
  try {
    options.loaded = loaded();
    result = measure::run_bench(program_, options);
  } catch (const Error& error) {
    result_.incomplete = fmt::format("nothing was measured: {}", in_one_line(error.what()));
    return {StepStatus::failed, in_one_line(error.what()), false};
  }
  result.smoke = gate_;
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  result_ = std::move(result);
  const Json json = result_json();
  if (was_interrupted(json)) return {StepStatus::interrupted, result_.incomplete, false};
  const std::string trouble = trouble_of(json);
  if (!trouble.empty()) return {StepStatus::failed, trouble, false};
  std::size_t measured = 0;
  for (const measure::CaseResult& of_case : result_.cases)
    for (const measure::ArmResult& arm : of_case.arms) measured += arm.status == measure::ArmStatus::measured;
  return {StepStatus::done,
          fmt::format("{} measured in {} case{}", measured, result_.cases.size(), result_.cases.size() == 1 ? "" : "s"),
          false};
}

Json Measurement::result_json() const { return measure::bench_json(result_); }

int exit_code_of(const Json& bench) {
  if (was_interrupted(bench)) return 130;
  return trouble_of(bench).empty() ? 0 : 1;
}

std::string trouble_of(const Json& bench) {
  if (gate_failed(bench)) {
    const engine::SmokeResult gate = engine::smoke_from_json(at(at(bench, "gate"), "smoke"), "smoke gate");
    return fmt::format("the smoke gate failed, nothing was measured: {}", failed_checks(gate));
  }
  std::string out;
  for (const char* status : {"wrong", "failed"})
    if (const auto arms = arms_with(bench, status); !arms.empty())
      out += fmt::format("{}arms {}: {}", out.empty() ? "" : "; ", status, fmt::join(arms, ", "));
  if (!out.empty()) return out;
  const Json& incomplete = at(bench, "incomplete");
  return incomplete.is_string() ? incomplete.get<std::string>() : "";
}

}  // namespace tilewright::port

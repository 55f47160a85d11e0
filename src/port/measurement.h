// The middle of the workflow: the smoke gate and the arms of one model, loaded once. What is found is kept as the
// `result` of a report of kind "bench" (docs/report.md).
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "engine/smoke_gate.h"
#include "measure/bench.h"
#include "port/steps.h"

namespace tilewright::port {

struct MeasurementOptions {
  measure::BenchOptions bench;                      // its progress, interrupt and loaded model are set here
  std::vector<std::filesystem::path> goldens = {};  // beside those that lie in the model's directory
  const std::atomic<bool>* interrupted = nullptr;
};

class Measurement {
 public:
  // All must outlive it. Throws Error as measure::check_bench_options does.
  Measurement(const Program& program, const MeasurementOptions& options, Progress& progress);

  // Loads the model now. Throws Error; left to the gate and the arms, such an Error becomes what they found.
  void load() { loaded(); }

  // Why there is no gate for this model; empty if there is one. Random weights have no sense to judge.
  std::string no_gate() const;
  void skip_gate(const std::string& why);
  // A model that cannot be loaded fails the gate, too.
  StepOutcome run_gate();
  // The gate's earlier result still stands.
  void reuse_gate(const engine::SmokeResult& gate);
  bool gate_is_fine() const { return gate_.passed() || !gate_.skipped.empty(); }
  void leave_arms_out(const std::string& why) { result_.incomplete = why; }

  // The gate must have run, or been skipped. An arm that fails is in the result and ends nothing; if
  // nothing can be measured at all, the result says why.
  StepOutcome run_arms();

  const engine::SmokeResult& gate() const { return gate_; }
  // Of the arms; before they ran, and if the gate failed: what is known of the model, the gate, no cases, and why.
  const measure::BenchResult& result() const { return result_; }
  Json result_json() const;

 private:
  std::shared_ptr<const engine::LoadedModel> loaded();
  void describe();
  void note_warnings();

  const Program& program_;
  const MeasurementOptions& options_;
  Progress& progress_;
  std::shared_ptr<const engine::LoadedModel> loaded_;
  engine::SmokeResult gate_;
  measure::BenchResult result_;
};

// How a benchmark's `result` ends a program: 130 interrupted, 1 if the gate failed or an arm is wrong or failed, else
// 0.
int exit_code_of(const Json& bench);
// What a user must know of it in one line; empty if all is well: "the smoke gate failed, nothing was measured: passage
// 8.31, at most 7.07".
std::string trouble_of(const Json& bench);

}  // namespace tilewright::port

// An arm at work: its session (a stream, memory pool and state of its own) and runner on the model that all arms share,
// and what it cost to get there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/runner.h"
#include "engine/session.h"
#include "measure/arm.h"
#include "measure/bench_result.h"
#include "measure/coverage.h"
#include "measure/pass.h"

namespace tilewright::measure {

// Why an arm cannot be run at all with these options, or empty.
std::string refused_beforehand(const Arm& arm, const engine::SessionOptions& options);

class ArmRun {
 public:
  // `options`: as the model was loaded with; `fuse` is what fused arms switch on. Throws Error as Session does.
  ArmRun(std::shared_ptr<const engine::LoadedModel> loaded, const Arm& arm, const engine::SessionOptions& options);

  const Arm& arm() const { return arm_; }
  engine::Session& session() { return session_; }
  engine::Runner& runner() { return runner_; }

  // Tunes (with `--fuse auto`), begins sequences for the pass and captures what it needs. Throws Error.
  void prepare(const Pass& pass);
  // Of an arm without graph: what one step (prefill: the prompt) submits. Runs it once.
  struct Counts {
    long launches = 0;
    std::vector<KernelUse> kernels, fallbacks;
    std::vector<CoverageRow> coverage;
  };
  Counts count(const Pass& pass);
  // Why this fused arm is none: no kernel ran, with the reasons. Empty otherwise.
  std::string refusal(const Counts& counts);

  // Iterations with a clock for each token: what is known from the host's side. Decode only has a latency.
  struct Watched {
    std::optional<Latency> latency;
    double submitting_s = 0;  // the host's time in calls that submit, of one step or prompt
  };
  // Throws PassInterrupted.
  Watched watch(const Pass& pass, int iterations, const std::atomic<bool>* interrupted = nullptr);

  OnceCosts once() const;
  std::optional<GraphFacts> graph_facts(const Pass& pass) const;
  ArmMemory memory() const;

  // While one lives, kernels that are compiled are on this arm's account.
  class Account {
   public:
    explicit Account(ArmRun& arm);
    ~Account();
    Account(const Account&) = delete;

   private:
    ArmRun& arm_;
    double before_;
  };

 private:
  Arm arm_;
  engine::Session session_;
  engine::Runner runner_;
  double compile_s_ = 0, captured_compiling_s_ = 0, tune_s_ = 0;
};

}  // namespace tilewright::measure

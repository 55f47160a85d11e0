// Measures one model in several arms within one process (SPEC §4): the arms take turns, outputs are compared before any
// ratio, limits are read in the same run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.h"
#include "measure/bench_result.h"

namespace tilewright::measure {

// Where a benchmark stands. `done` of `total` within the stage; 0 of 0: unknown.
struct BenchProgress {
  std::string_view stage;    // "load", "limits", "prepare", "compare", "warm up", "measure", "latency", "trace"
  std::string_view of_case;  // "decode 128 after 8, batch 1"; empty while loading
  std::string_view arm;      // empty where none is meant
  std::uint64_t done = 0, total = 0;
};

struct BenchOptions {
  // Model directory or dummy shape, dtype, layers, seed of dummy weights, device, threads. `fuse` and `fuse_file` say
  // what fused arms switch on; "none" stands for all composites.
  engine::SessionOptions model;
  std::shared_ptr<const engine::LoadedModel> loaded = {};  // what `model` names, if the caller has loaded it already
  std::string regime = "auto";                             // or prefill, decode, diffusion
  // Lists: one case for each combination of what the regime uses (prefill: seq × batch, decode: gen × batch).
  std::vector<std::int64_t> seq = {16}, gen = {128}, batch = {1};
  std::int64_t prompt_len = 8;  // decode: positions before the first timed step
  std::vector<std::string> arms = {"eager", "graph", "fused", "fused+graph"};
  int warmup = 2;           // iterations of each arm before the first round
  int iters = 3;            // rounds; in each, every arm is timed once. Six and more for an interval
  std::uint64_t seed = 1;   // of prompt ids
  bool keep_trace = false;  // fills ArmResult::trace
  bool read_limits = true;
  std::function<void(const BenchProgress&)> progress = {};
  const std::atomic<bool>* interrupted = nullptr;  // looked at between iterations and between tokens
};

// What run_bench checks before it loads anything. Throws Error. The first looks at no model: it may not be here yet.
void check_bench_settings(const Program& program, const BenchOptions& options);
void check_bench_options(const Program& program, const BenchOptions& options);

// What a report says of a model that was loaded as `options` say.
BenchResult::ModelFacts model_facts(const Program& program, const engine::SessionOptions& options,
                                    const engine::LoadedModel& loaded);

// What `options` ask for is checked before anything is loaded. Throws Error for wrong options (unknown arm or regime,
// no rounds, lengths beyond the context …) and if the model cannot be loaded. Failures of single arms are in the
// result, and an interrupt leaves what was measured so far, marked incomplete. `program` must outlive the call only.
BenchResult run_bench(const Program& program, const BenchOptions& options);

}  // namespace tilewright::measure

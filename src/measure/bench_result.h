// What a benchmark found, as plain values; bench_json.h writes it by the schema in docs/report.md. Seconds, bytes,
// tokens per second; a number that is not known is absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "engine/smoke_gate.h"

namespace tilewright::measure {

using Number = std::optional<double>;

enum class Verdict { equal, near_tie, wrong };
const char* verdict_name(Verdict verdict);  // "equal", "near-tie", "wrong"

// Logits and tokens of an arm against eager's (equality_gate.h).
struct Equality {
  double bound = 0;
  double worst = 0;  // largest difference of a logit; infinite if one is not finite on one side only
  std::int64_t worst_position = -1;
  std::string bound_source;     // how the bound came about
  std::optional<bool> bitwise;  // graph arms: equal to the same kernels ungraphed
  std::int64_t tokens_compared = 0, tokens_equal = 0;
  Verdict verdict = Verdict::equal;
  struct NearTie {
    std::int64_t position = 0;
    double gap = 0;
  };
  std::optional<NearTie> near_tie;  // the first
  std::string why;                  // of a wrong one
};

// Speed against another arm: its time / this arm's time, round by round.
struct Ratio {
  std::string against;
  double value = 0;      // median
  Number low, high;      // 95 %; none under six rounds
  bool claimed = false;  // the interval excludes 1
  double best_of = 0;    // of the quickest rounds
};

struct Latency {
  double ttft_s = 0;                       // from the prompt's submission to the first token on the host
  double tpot_s = 0;                       // mean time of the others
  double p50_s = 0, p90_s = 0, p99_s = 0;  // between two tokens
};

// Paid once, not in any timed iteration.
struct OnceCosts {
  double load_s = 0, compile_s = 0, tune_s = 0, capture_s = 0, instantiate_s = 0;
  int graphs = 0;
};

struct ArmMemory {
  std::uint64_t allocated = 0, peak = 0, reserved = 0;
  bool reserved_grew = false;  // from the first round to the last
};

// Of one timed iteration; the four sum to the untraced median (split.h).
struct Split {
  double kernels_s = 0, submission_s = 0, bubbles_s = 0, compile_s = 0;
  double trace_slowdown = 1;  // traced / untraced
};

struct OpTime {
  std::string op, op_class;  // matmul, attention, norm, elementwise, move, other
  long launches = 0;
  double seconds = 0;
};

// A launch on the device, or the host's work to submit it.
struct TimelineEntry {
  std::string op, path, kernel;
  bool on_host = false;
  double start_s = 0, end_s = 0;  // from the step's (trace: the iteration's) beginning
  double submitted_s = 0;
  int stream = 0, replay = -1;
  std::uint32_t grid = 1;
  double bytes = 0, flops = 0;
};

struct GraphFacts {
  std::int64_t nodes = 0, phases = 0, barriers_removed = 0;
  std::uint64_t arena_bytes = 0, planned_bytes = 0;
};

struct KernelUse {
  std::string op, candidate, reason;
  long count = 0;  // in one pass
};

enum class ArmStatus { measured, wrong, failed, refused, skipped };
const char* arm_status_name(ArmStatus status);

struct ArmResult {
  std::string name;
  ArmStatus status = ArmStatus::skipped;
  std::string reason;  // of every status but measured
  std::optional<ErrorText> error;
  std::optional<Equality> equality;
  std::vector<double> seconds;  // one a round
  Number median_s, best_s, spread_low, spread_high, rate_median, rate_best, limit_share;
  std::optional<Ratio> ratio;
  std::optional<Latency> latency;
  std::optional<OnceCosts> once;
  Number launches_per_token, launch_cost_s;
  std::optional<ArmMemory> memory;
  std::optional<Split> split;
  std::vector<OpTime> by_op;
  std::vector<TimelineEntry> timeline;  // of one step
  std::int64_t timeline_cut = 0;        // entries that were left out
  std::vector<TimelineEntry> trace;     // of one iteration, if asked for
  std::optional<GraphFacts> graph;
  std::vector<KernelUse> fused, fallbacks;
};

// What `to` saves against `from`, from.part - to.part; the parts sum to the whole.
struct Difference {
  std::string from, to;
  double whole_s = 0, compile_s = 0, submission_s = 0, bubbles_s = 0, kernels_s = 0;
};

// What became of an op's calls in one pass of the fused arm, layers taken together.
struct CoverageRow {
  std::string block, op;  // "layers.*.self_attn"
  long fused = 0, small = 0;
  std::string why;  // of those not fused
};

struct CaseResult {
  std::string label;
  std::int64_t tokens = 0, padded_tokens = 0;  // of one timed iteration
  Number limit_s;
  std::string limit_kind;
  std::vector<ArmResult> arms;
  std::vector<Difference> differences;
  std::vector<CoverageRow> coverage;
};

struct Fingerprint {
  std::string cpu, isa;
  int threads = 0;
  std::string governor;
  std::vector<double> load_average;
  std::uint64_t memory = 0;
  std::string system;
};

struct BenchLimits {
  double f32_flops = 0, bf16_flops = 0, read_bytes = 0, copy_bytes = 0, barrier_s = 0;
  double cache_bytes = 0;  // read per second of what stays in the last cache; 0: it was not asked for, or nothing does
};

struct BenchResult {
  std::string regime, regime_reason;
  struct ModelFacts {
    std::string name, family, description, dtype;
    std::int64_t layers = 0;
    bool cut = false;
    bool dummy = false;
    std::uint64_t weight_bytes = 0;
  } model;
  Json settings = Json::object();
  Fingerprint fingerprint;
  std::optional<BenchLimits> limits;
  std::optional<engine::SmokeResult> smoke;  // the gate before measuring; who asked for the benchmark fills it in
  std::vector<CaseResult> cases;
  std::string incomplete;  // empty: complete; "interrupted after round 3"
  std::vector<std::string> warnings;
  std::map<std::string, std::uint64_t> seeds;

  // For exit codes: an arm whose outputs are wrong; an arm that failed.
  bool any_wrong() const;
  bool any_failed() const;
};

}  // namespace tilewright::measure

// A benchmark's report as values: what docs/report.md states, read and checked, so that terminal, page and comparison
// need not look at JSON. Times in seconds, rates in tokens per second, memory in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "report/units.h"

namespace tilewright::report {

using Count = std::optional<std::int64_t>;

struct NearTie {
  std::int64_t position = 0;
  double gap = 0;
};

struct Equality {
  Number bound, worst;
  Count worst_position;
  std::string bound_source;
  std::optional<bool> bitwise;
  Count tokens_compared, tokens_equal;
  std::string verdict;  // "equal", "near-tie", "wrong"
  std::optional<NearTie> near_tie;
};

struct Ratio {
  std::string against;
  double value = 0;
  Number low, high;  // 95 %; none under six rounds
  bool claimed = false;
  Number best_of;
};

struct Latency {
  Number ttft_s, tpot_s, p50_s, p90_s, p99_s;
};

struct OneTimeCosts {
  Number load_s, compile_s, tune_s, capture_s, instantiate_s;
  Count graphs;
};

struct ArmMemory {
  Number allocated, peak, reserved;
  std::optional<bool> reserved_grew;
};

// Of one timed iteration; the four add up to the median.
struct Split {
  Number kernels_s, submission_s, bubbles_s, compile_s;
  Number trace_slowdown;  // traced / untraced
};

struct OpTime {
  std::string op, op_class;
  Count launches;
  double seconds = 0;
};

struct TimelineEntry {
  std::string op, path, lane;
  double start_s = 0, end_s = 0;
};

struct GraphFacts {
  Count nodes, phases, barriers_removed;
  Number arena_bytes, planned_bytes;
};

struct KernelUse {
  std::string op, candidate, reason;
  Count count;
};

struct Arm {
  std::string name, status, reason;
  std::optional<ErrorText> error;
  std::optional<Equality> equality;
  std::vector<double> seconds;  // one a round
  Number median_s, best_s, spread_low, spread_high, rate_median, rate_best, limit_share;
  std::optional<Ratio> ratio;
  std::optional<Latency> latency;
  std::optional<OneTimeCosts> once;
  Number launches_per_token, launch_cost_s;
  std::optional<ArmMemory> memory;
  std::optional<Split> split;
  std::vector<OpTime> by_op;
  std::vector<TimelineEntry> timeline;  // one step
  Count timeline_cut;
  std::optional<GraphFacts> graph;
  std::vector<KernelUse> fused, fallbacks;

  bool has_numbers() const { return rate_median.has_value(); }
  bool is_wrong() const { return status == "wrong" || (equality && equality->verdict == "wrong"); }
  // The ratio that may be shown: none for a wrong arm, none for the arm itself.
  const Ratio* shown_ratio() const { return is_wrong() || !ratio || ratio->against == name ? nullptr : &*ratio; }
};

// What `to` saves against `from`: from's time less to's.
struct Difference {
  std::string from, to;
  Number whole_s, compile_s, submission_s, bubbles_s, kernels_s;
};

struct CoverageRow {
  std::string block, op, why;
  Count fused, small;
};

struct BenchCase {
  std::string label, limit_kind;
  Count tokens, padded_tokens;
  Number limit_s;
  std::vector<Arm> arms;
  std::vector<Difference> differences;
  std::vector<CoverageRow> coverage;
};

struct SmokeCheck {
  std::string name, note;
  std::string value, bound;  // as text: most are numbers
  bool passed = false;
};

struct SmokeGate {
  std::string skipped;  // why; empty if it ran
  bool ran = false, passed = false;
  std::vector<SmokeCheck> checks;
};

struct ModelFacts {
  std::string name, family, description, dtype, weights;
  Count layers;
  bool cut = false;
  Number weight_bytes;
};

struct Fingerprint {
  std::string cpu, isa, governor, system;
  Count threads;
  std::vector<double> load_average;
  Number memory;
};

struct MeasuredLimits {
  Number f32_flops, bf16_flops, read_bytes, copy_bytes, barrier_s;
};

struct PortStep {
  std::string name, status, detail;
  Number seconds;
};

struct BenchReport {
  std::string kind;  // "bench", "port"
  std::vector<std::string> command;
  std::string tool_version, tool_commit, created;
  std::vector<std::pair<std::string, std::string>> seeds, settings;
  std::vector<PortStep> steps;  // of "port"
  bool has_bench = true;        // false: a port that ended before it measured

  std::string regime, regime_reason;
  ModelFacts model;
  Fingerprint fingerprint;
  MeasuredLimits limits;
  std::optional<SmokeGate> smoke;
  std::vector<BenchCase> cases;
  std::string incomplete;  // why; empty if it is complete
  std::vector<std::string> warnings;

  std::string json_path() const { return kind == "port" ? "/result/bench" : "/result"; }  // of the benchmark's part
};

// Reads an envelope of kind "bench" or "port". `where` names it in errors. Throws Error for anything else: not a
// report, another version, another kind, a field of the wrong type. Absent fields are read as null.
BenchReport bench_report(const Json& envelope, const std::string& where = "report");

// The same from a file.
BenchReport read_bench_report(const std::string& path);

}  // namespace tilewright::report

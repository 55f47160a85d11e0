// One run of bench/limits: work measured in rounds between readings of the machine's limits, as rows with the limit
// beside. A group of rows is a file bench/limits/<group>.cpp with `void add_<group>_rows(LimitsRun&)`, called in
// bench/limits.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/statistics.h"
#include "target/probes.h"

namespace tilewright::bench {

struct LimitsOptions {
  int threads = 2;
  int rounds = 25;
  std::string only;       // rows whose name contains it
  std::string tokenizer;  // path of Qwen3's tokenizer.json
  IsaLevel isa = active_isa();
};

// What a row is compared with. `none`: printed alone; `time`: the bar is a value not to be exceeded.
enum class LimitKind { f32_peak, bf16_peak, read, copy, cache_read, none };

struct RowSpec {
  std::string what;
  std::string unit;      // of the printed value
  double unit_size = 1;  // value = rate / unit_size
  LimitKind limit = LimitKind::none;
  std::optional<double> bar = {};  // least share of the limit; without a limit: least value
  bool at_most = false;            // the bar is a largest value instead (times, sizes)
};

struct Row {
  RowSpec spec;
  measure::Estimate value;
  double limit = 0;                        // median, in the row's unit; 0 without one
  std::optional<measure::Estimate> share;  // median of per-round ratios
  bool met = true;                         // no bar, or the median reaches it
  bool above_limit = false;                // the whole interval lies above 102 %: the limit is wrong
};

class LimitsRun {
 public:
  explicit LimitsRun(LimitsOptions options);

  const LimitsOptions& options() const { return options_; }
  // Spinning threads for work that brings none. Sleeps soon after use, so it does not disturb work that has its own.
  target::SpinTeam& team() { return team_; }
  // bf16_peak where the instruction set has dot products, else f32_peak.
  LimitKind bf16_limit() const { return peak_.has_bf16_dot() ? LimitKind::bf16_peak : LimitKind::f32_peak; }

  bool wants(const std::string& what) const { return what.find(options_.only) != std::string::npos; }
  bool wants_any(const std::vector<std::string>& whats) const;
  // Calls `rate` (things per second: flops, bytes, tokens …) once to warm up and then once a round, between two
  // readings of the limit whose mean it is compared with. `scale` turns the limit's rate into the row's rate (bytes a
  // token, say): limit = reading / scale. Skipped if not wanted. Prints the row.
  void measure(const RowSpec& spec, const std::function<double()>& rate, double scale = 1);
  // A value measured elsewhere (seconds, bytes), one sample a call of `value`.
  void record(const RowSpec& spec, int samples, const std::function<double()>& value);

  // A row that this machine cannot measure, with the reason and the way to get it.
  void not_run(const std::string& what, const std::string& reason);
  // Text printed below a row, and the same for the report.
  void note(const std::string& what, const std::string& text, Json json);

  void print_header() const;
  Json rows_json() const;
  const Json& notes_json() const { return notes_; }
  // 1 if some row shows that a limit is wrong.
  int exit_code() const;
  int unmet() const;
  // Rounds that count although another process took a processor away meanwhile: the machine was too busy to avoid them.
  int disturbed() const { return disturbed_; }

 private:
  double read_limit(LimitKind kind);
  void finish(Row row);

  LimitsOptions options_;
  target::SpinTeam team_;
  target::PeakProbe peak_;
  std::unique_ptr<target::BandwidthProbe> bandwidth_;  // made when first needed: they hold memory
  std::unique_ptr<target::CopyProbe> copy_;
  std::vector<Row> rows_;
  Json not_run_ = Json::array(), notes_ = Json::object();
  int disturbed_ = 0;
};

// Named after their files.
void add_machine_rows(LimitsRun& run);
void add_linear_rows(LimitsRun& run);
void add_small_rows(LimitsRun& run);
void add_launch_rows(LimitsRun& run);
void add_eager_rows(LimitsRun& run);
void add_startup_rows(LimitsRun& run);
void add_tokenizer_rows(LimitsRun& run);

}  // namespace tilewright::bench

// One run of bench/limits or bench/fused: work measured in rounds, as rows with what it is compared with beside: a
// limit of the machine read just before and after, or rivals that take turns with it. A group of rows is a file
// bench/<program>/<group>.cpp with `void add_<group>_rows(LimitsRun&)`, called in bench/<program>.cpp.
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
  std::string only;  // rows whose name contains it
  IsaLevel isa = active_isa();
};

// What a row is compared with. `none`: printed alone.
enum class LimitKind { f32_peak, bf16_peak, read, copy, cache_read, none };

struct RowSpec {
  std::string what;
  std::string unit;      // of the printed value
  double unit_size = 1;  // value = rate / unit_size
  LimitKind limit = LimitKind::none;
  std::optional<double> bar = {};  // least share of the limit, or least ratio; without either: least value
  bool at_most = false;            // the bar is a largest value instead (times, sizes); ratios turn round
  bool yardstick = false;          // the limit is only a measure: being faster does not prove it wrong
  bool claimed_only = false;       // a ratio misses its bar only where the whole interval does ("never slower": bar 1)
};

// One of several ways to do one piece of work. Seconds of a sample, which is a few milliseconds or more.
struct Arm {
  std::string name;
  std::function<double()> seconds;
};

struct Row {
  RowSpec spec;
  measure::Estimate value;
  double limit = 0;                        // median, of the limit or the best rival, in the row's unit; 0 without one
  std::optional<measure::Estimate> share;  // median of per-round ratios
  std::string rival = {};                  // the best one's name; empty beside a limit
  double best_ratio = 0;                   // of the quickest samples of both: says more on a busy machine
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
  // The same beside a limit of the caller's own, whose readings have the unit of `rate`.
  void measure_beside(const RowSpec& spec, const std::function<double()>& limit, const std::function<double()>& rate);
  // All arms once a round, in turns; `unit_size` seconds are one unit. The row is the first arm's time and how many
  // times faster it is than the rival with the lowest median (with `at_most`: how many times its time it takes).
  void compare(const RowSpec& spec, const std::vector<Arm>& arms);
  // The same for several rows at once: the baseline and all arms once a round, in turns; each row is an arm's time and
  // its ratio to the baseline in the same round (turned round as above). Prints the baseline first. Returns the times,
  // in units, of the baseline and then of the rows; nothing if no row is wanted.
  struct Rated {
    RowSpec spec;
    std::function<double()> seconds;
  };
  std::vector<std::vector<double>> compare_all(const RowSpec& baseline, const Arm& arm, const std::vector<Rated>& rows);
  // A value measured elsewhere (seconds, bytes), one sample a call of `value`.
  void record(const RowSpec& spec, int samples, const std::function<double()>& value);

  // A row that this machine cannot measure, with the reason and the way to get it.
  void not_run(const std::string& what, const std::string& reason);
  // Text printed below a row, and the same for the report.
  void note(const std::string& what, const std::string& text, Json json);

  // Waits until the threads of the probes, which spin for some milliseconds after each reading, sleep: before work that
  // has threads of its own.
  void settle() const;

  void print_header() const;
  // Writes the report, if a file is named, and prints what the rows say together: every row with a bar if
  // `with_summary`, then the counts. Returns 1 if some row shows that a limit is wrong, else 0.
  int conclude(const std::string& kind, const std::string& report_file, bool with_summary) const;

 private:
  double read_limit(LimitKind kind);
  std::vector<std::vector<double>> take_turns(const std::vector<Arm>& arms, double unit_size);
  // Does `work` until so many times count, and `keep` after each that does. One during which another process took a
  // processor away is repeated, at most so often that a busy machine still ends.
  void rounds(int count, const std::function<void()>& work, const std::function<void()>& keep);
  void finish(Row row);
  Json rows_json() const;
  void print_summary() const;

  LimitsOptions options_;
  target::SpinTeam team_;
  target::PeakProbe peak_;
  std::unique_ptr<target::BandwidthProbe> bandwidth_;  // made when first needed: they hold memory
  std::unique_ptr<target::CopyProbe> copy_;
  std::vector<Row> rows_;
  Json not_run_ = Json::array(), notes_ = Json::object();
  int disturbed_ = 0;
};

}  // namespace tilewright::bench

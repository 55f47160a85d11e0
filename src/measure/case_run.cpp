#include "measure/case_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measure/equality_gate.h"
#include "measure/round_robin.h"
#include "measure/split.h"
#include "measure/statistics.h"
#include "measure/summary.h"

namespace tilewright::measure {
namespace {

constexpr double kShort = 0.02;       // seconds: an iteration that cold caches would show in
constexpr double kTracedOften = 0.5;  // seconds: iterations up to this are traced three times
constexpr int kMostWatched = 3;
constexpr double kDisturbed = 2;      // traced / untraced; a trace alone costs less
constexpr double kImpossible = 1.02;  // share of a limit; what is above shows that its readings are wrong

class CaseRun {
 public:
  explicit CaseRun(const CaseRequest& request)
      : request_(request), options_(*request.options), pass_(request.pass), label_(request.pass.label()) {
    out_.result.label = label_;
    out_.result.tokens = out_.result.padded_tokens = pass_.tokens();
    for (const Arm& arm : request.arms) {
      out_.result.arms.push_back({.name = arm.name()});
      if (arm.graph && pass_.regime == Regime::prefill)
        out_.result.padded_tokens = pass_.batch * engine::prefill_bucket(pass_.prompt);
    }
    runs_.resize(request.arms.size());
    counts_.resize(request.arms.size());
  }

  CaseOutcome run() {
    if (prepare() && compare() && time()) look_into();
    conclude();
    return std::move(out_);
  }

 private:
  ArmResult& result(std::size_t i) { return out_.result.arms[i]; }
  bool alive(std::size_t i) const { return runs_[i] && out_.result.arms[i].status == ArmStatus::measured; }
  bool computes() const { return request_.loaded->device().computes(); }
  bool stop() const { return options_.interrupted && options_.interrupted->load(std::memory_order_relaxed); }
  bool gone() const { return out_.lost; }

  void say(std::string_view stage, std::string_view arm, std::uint64_t done, std::uint64_t total) const {
    if (options_.progress) options_.progress({stage, label_, arm, done, total});
  }

  void drop(std::size_t i, ArmStatus status, std::string reason, std::optional<ErrorText> error = {}) {
    result(i).status = status;
    result(i).reason = std::move(reason);
    result(i).error = std::move(error);
  }
  void drop_failed(std::size_t i, const std::exception& e) {
    const ErrorText text = error_text(e);
    drop(i, ArmStatus::failed, text.what, text);
    if (faulted()) lose(i);
  }
  // Faults of device work stay.
  bool faulted() const {
    try {
      request_.loaded->device().synchronize();
    } catch (const std::exception&) {
      return true;
    }
    return false;
  }
  void lose(std::optional<std::size_t> by) {
    if (!out_.lost) out_.lost_by = by;
    out_.lost = true;
  }
  void drop_all(ArmStatus status, const std::string& reason) {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (!runs_[i] || alive(i)) drop(i, status, reason);
  }
  bool interrupted(const std::string& when) {
    out_.incomplete = fmt::format("interrupted {}: {}", when, label_);
    return false;
  }

  // The run of an arm, or one made for comparing only.
  ArmRun* helper(const Arm& arm) {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i] && request_.arms[i] == arm) return runs_[i].get();
    for (const auto& made : helpers_)
      if (made->arm() == arm) return made.get();
    auto fresh = std::make_unique<ArmRun>(request_.loaded, arm, options_.model);
    fresh->prepare(pass_);
    return helpers_.emplace_back(std::move(fresh)).get();
  }

  // Sessions, tuning, capture; what a pass launches.
  bool prepare() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (stop()) return drop_all(ArmStatus::skipped, "interrupted"), interrupted("while preparing");
      say("prepare", result(i).name, i, runs_.size());
      if (const std::string reason = refused_beforehand(request_.arms[i], options_.model); !reason.empty()) {
        drop(i, ArmStatus::refused, reason);
        continue;
      }
      try {
        runs_[i] = std::make_unique<ArmRun>(request_.loaded, request_.arms[i], options_.model);
        result(i).status = ArmStatus::measured;
        runs_[i]->prepare(pass_);
      } catch (const std::exception& e) {
        drop_failed(i, e);
        if (gone()) return false;
      }
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!alive(i)) continue;
      try {
        counts_[i] = helper(request_.arms[i].ungraphed())->count(pass_);
      } catch (const std::exception& e) {
        drop_failed(i, e);
        if (gone()) return false;
        continue;
      }
      const std::string refusal = helper(request_.arms[i].ungraphed())->refusal(counts_[i]);
      result(i).fused = counts_[i].kernels;
      result(i).fallbacks = counts_[i].fallbacks;
      if (request_.arms[i].fused && out_.result.coverage.empty()) out_.result.coverage = counts_[i].coverage;
      if (!refusal.empty()) drop(i, ArmStatus::refused, refusal);
    }
    return true;
  }

  // If eager does not run or is not right, nothing is measured.
  bool compare() {
    if (!computes()) return true;
    try {
      say("compare", "eager", 0, runs_.size());
      const EqualityGate gate(*helper(Arm{}), pass_, request_.loaded, options_.model, options_.interrupted);
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (!alive(i)) continue;
        say("compare", result(i).name, i, runs_.size());
        try {
          const Arm& arm = request_.arms[i];
          result(i).equality =
              arm == Arm{} ? gate.eager() : gate.judge(*runs_[i], arm.graph ? helper(arm.ungraphed()) : nullptr);
        } catch (const std::exception& e) {
          drop_failed(i, e);
          if (gone()) return false;
          continue;
        }
        if (result(i).equality->verdict == Verdict::wrong) drop(i, ArmStatus::wrong, result(i).equality->why);
      }
      if (gate.eager().verdict != Verdict::wrong) return true;
      drop_all(ArmStatus::skipped, gate.eager().why);
    } catch (const PassInterrupted&) {
      drop_all(ArmStatus::skipped, "interrupted");
      return interrupted("while comparing");
    } catch (const std::exception& e) {
      drop_all(ArmStatus::skipped, "eager does not run: " + error_text(e).what);
      if (faulted()) lose({});
    }
    return false;
  }

  bool time() {
    std::vector<Contestant> contestants;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!alive(i)) continue;
      ArmRun& run = *runs_[i];
      run.session().stream().reset_peak();
      places.push_back(i);
      contestants.push_back({result(i).name, [this, &run] {
                               const ArmRun::Account account(run);
                               return last_ = time_iteration(run.runner(), pass_, options_.interrupted);
                             }});
    }
    if (contestants.empty()) return true;
    request_.loaded->device().trim();  // what comparing took
    RoundPlan plan{.warmup = options_.warmup, .rounds = options_.iters};
    plan.stop = [this] { return stop() || gone(); };
    plan.failed = [&](int which) {
      if (faulted()) lose(places[static_cast<std::size_t>(which)]);
    };
    plan.before_round = [&](int round) {
      if (round == 1) note_memory(reserved_after_first_);
      read_limits();
      // The probes have emptied the caches.
      if (round < options_.iters && last_ < kShort) warm(contestants[static_cast<std::size_t>(round) % places.size()]);
    };
    std::uint64_t done = 0, warmed = 0;
    plan.before_sample = [&](int round, int which) {
      const std::string& name = contestants[static_cast<std::size_t>(which)].name;
      if (round < 0)
        say("warm up", name, warmed++, static_cast<std::uint64_t>(options_.warmup) * places.size());
      else
        say("measure", name, done++, static_cast<std::uint64_t>(options_.iters) * places.size());
    };
    const RoundTimes times = run_rounds(contestants, plan);
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (times.errors[k])
        drop(places[k], ArmStatus::failed, times.errors[k]->what, times.errors[k]);
      else
        result(places[k]).seconds = times.seconds[k];
    }
    if (gone()) return false;
    note_memory(reserved_after_last_);
    if (!times.interrupted) return true;
    if (times.complete == 0) drop_all(ArmStatus::skipped, "interrupted");
    return interrupted(times.complete == 0 ? "before the first round was over"
                                           : fmt::format("after round {}", times.complete));
  }

  void read_limits() {
    if (!request_.limits) return;
    say("limits", "", 0, 0);
    readings_.push_back(
        limit_of_pass(*request_.work, pass_, request_.limits->read(working_set(*request_.work, pass_))));
  }
  void warm(const Contestant& contestant) const {
    try {
      contestant.sample();
    } catch (const std::exception&) {  // it will say so when its turn comes
    }
  }
  void note_memory(std::vector<std::uint64_t>& reserved) const {
    reserved.assign(runs_.size(), 0);
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (alive(i)) reserved[i] = runs_[i]->memory().reserved;
  }

  // Latency and traces, in iterations of their own.
  bool look_into() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!alive(i)) continue;
      if (stop()) return interrupted("after all rounds, before latency and traces were complete");
      ArmResult& to = result(i);
      try {
        to.memory = runs_[i]->memory();
        say("latency", to.name, i, runs_.size());
        const ArmRun::Watched watched =
            runs_[i]->watch(pass_, std::min(options_.iters, kMostWatched), options_.interrupted);
        to.latency = watched.latency;
        launches(i, watched.submitting_s);
        say("trace", to.name, i, runs_.size());
        trace(i);
      } catch (const PassInterrupted&) {
        return interrupted("after all rounds, before latency and traces were complete");
      } catch (const std::exception& e) {
        const ErrorText text = error_text(e);
        out_.warnings.push_back(fmt::format("{}, {}: {}", label_, to.name, text.what));
      }
    }
    return true;
  }

  void launches(std::size_t i, double submitting_s) {
    ArmResult& to = result(i);
    to.graph = runs_[i]->graph_facts(pass_);
    const double launches = static_cast<double>(to.graph ? to.graph->nodes : counts_[i].launches);
    const double tokens =
        static_cast<double>(pass_.regime == Regime::prefill ? pass_.batch * pass_.prompt : pass_.batch);
    to.launches_per_token = launches / tokens;
    if (launches > 0) to.launch_cost_s = submitting_s / launches;
  }

  void trace(std::size_t i) {
    ArmResult& to = result(i);
    if (to.seconds.empty()) return;
    const double untraced = median(to.seconds);
    std::vector<TracedIteration> traced;
    for (int k = 0; k < (untraced < kTracedOften ? 3 : 1); ++k)
      traced.push_back(trace_iteration(runs_[i]->runner(), pass_, options_.interrupted));
    std::sort(traced.begin(), traced.end(),
              [](const TracedIteration& a, const TracedIteration& b) { return a.end - a.start < b.end - b.start; });
    const TracedIteration& middle = traced[traced.size() / 2];
    if (middle.records.empty()) return;  // a device that runs nothing
    to.split = split_of(middle, untraced);
    if (to.split->trace_slowdown > kDisturbed)
      out_.warnings.push_back(
          fmt::format("{}, {}: the traced iteration took {:.1f} times as long as the others, its split says little",
                      label_, to.name, to.split->trace_slowdown));
    to.by_op = time_by_op(middle, untraced);
    to.timeline = step_timeline(middle, to.timeline_cut);
    if (options_.keep_trace) to.trace = whole_timeline(middle);
  }

  void conclude() {
    std::vector<double> seconds;  // that each round's iteration needs at the limit
    for (std::size_t r = 0; r + 1 < readings_.size(); ++r)
      seconds.push_back((readings_[r].seconds + readings_[r + 1].seconds) / 2);
    if (!seconds.empty()) {
      out_.result.limit_s = median(seconds);
      const auto nearest = std::min_element(readings_.begin(), readings_.end(), [&](const Limit& a, const Limit& b) {
        return std::abs(a.seconds - *out_.result.limit_s) < std::abs(b.seconds - *out_.result.limit_s);
      });
      out_.result.limit_kind = nearest->kind;
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      ArmResult& to = result(i);
      if (runs_[i]) to.once = runs_[i]->once();
      if (to.status != ArmStatus::measured) continue;
      // A round that was interrupted left a reading, but no time.
      summarize(to, pass_.tokens(),
                {seconds.begin(),
                 seconds.begin() + static_cast<std::ptrdiff_t>(std::min(seconds.size(), to.seconds.size()))});
      if (to.limit_share && *to.limit_share > kImpossible)
        out_.warnings.push_back(fmt::format("{}, {}: {:.0f} % of the limit, which other work on this machine disturbed",
                                            label_, to.name, 100 * *to.limit_share));
      if (!to.memory) to.memory = runs_[i]->memory();
      if (i < reserved_after_first_.size() && i < reserved_after_last_.size())
        to.memory->reserved_grew = reserved_after_last_[i] > reserved_after_first_[i];
    }
    compare_arms(out_.result.arms);
    out_.result.differences = differences(out_.result.arms);
  }

  const CaseRequest& request_;
  const BenchOptions& options_;
  const Pass& pass_;
  std::string label_;
  CaseOutcome out_;
  std::vector<std::unique_ptr<ArmRun>> runs_, helpers_;  // helpers: needed to compare, not asked for
  std::vector<ArmRun::Counts> counts_;
  std::vector<Limit> readings_;  // before each round and after the last
  std::vector<std::uint64_t> reserved_after_first_, reserved_after_last_;
  double last_ = 0;  // seconds of the last iteration
};

}  // namespace

CaseOutcome run_case(const CaseRequest& request) { return CaseRun(request).run(); }

double working_set(const Work& work, const Pass& pass) {
  const auto batch = static_cast<double>(pass.batch);
  return pass.regime == Regime::prefill ? work.prefill_bytes(static_cast<double>(pass.prompt), batch)
                                        : work.decode_bytes(static_cast<double>(pass.length()), batch);
}

Limit limit_of_pass(const Work& work, const Pass& pass, const BenchLimits& limits) {
  const auto batch = static_cast<double>(pass.batch), prompt = static_cast<double>(pass.prompt);
  if (pass.regime == Regime::prefill)
    return limit_of(work.prefill_flops(prompt, batch), work.prefill_bytes(prompt, batch), work.dtype, limits);
  const auto steps = static_cast<double>(pass.steps);
  const double context = prompt + (steps - 1) / 2;  // on average
  return limit_of(steps * work.decode_flops(context, batch), steps * work.decode_bytes(context, batch), work.dtype,
                  limits);
}

}  // namespace tilewright::measure

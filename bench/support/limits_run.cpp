#include "support/limits_run.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "report/envelope.h"
#include "report/table.h"

namespace tilewright::bench {
namespace {

constexpr int kMostRepeats = 3;

const char* limit_name(LimitKind kind) {
  switch (kind) {
    case LimitKind::f32_peak:
      return "f32 FMA peak";
    case LimitKind::bf16_peak:
      return "bf16 dot peak";
    case LimitKind::read:
      return "read bandwidth";
    case LimitKind::copy:
      return "copy bandwidth";
    case LimitKind::cache_read:
      return "cache read bandwidth";
    case LimitKind::none:
      break;
  }
  return "";
}

// How often a thread of this process lost its processor to somebody else.
long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

LimitsRun::LimitsRun(LimitsOptions options)
    : options_(std::move(options)), team_(options_.threads), peak_(team_, options_.isa) {}

double LimitsRun::read_limit(LimitKind kind) {
  switch (kind) {
    case LimitKind::f32_peak:
      return peak_.f32_fma();
    case LimitKind::bf16_peak:
      return peak_.bf16_dot();
    case LimitKind::read:
      if (!bandwidth_) bandwidth_ = std::make_unique<target::BandwidthProbe>(team_, options_.isa);
      return bandwidth_->sample();
    case LimitKind::copy:
      if (!copy_) copy_ = std::make_unique<target::CopyProbe>(team_, options_.isa);
      return copy_->sample();
    case LimitKind::cache_read: {
      const CpuInfo info = cpu_info();
      return target::cache_read_bandwidth(team_, options_.isa,
                                          static_cast<std::size_t>(info.l2_bytes > 0 ? info.l2_bytes / 2 : 131072));
    }
    case LimitKind::none:
      break;
  }
  return 0;
}

void LimitsRun::rounds(int count, const std::function<void()>& work, const std::function<void()>& keep) {
  int repeats = kMostRepeats * count;
  for (int kept = 0; kept < count;) {
    const long taken = preemptions();
    work();
    const bool calm = preemptions() == taken;
    if (!calm && repeats-- > 0) continue;
    keep();
    ++kept;
    disturbed_ += !calm;
  }
}

void LimitsRun::measure(const RowSpec& spec, const std::function<double()>& rate, double scale) {
  measure_beside(
      spec, spec.limit == LimitKind::none ? std::function<double()>() : [&] { return read_limit(spec.limit) / scale; },
      rate);
}

void LimitsRun::measure_beside(const RowSpec& spec, const std::function<double()>& limit,
                               const std::function<double()>& rate) {
  if (!wants(spec.what)) return;
  std::vector<double> rates, limits;
  rate();
  double before = 0, reached = 0, after = limit ? limit() : 0;
  rounds(
      options_.rounds,
      [&] {
        before = after;
        reached = rate();
        if (limit) after = limit();
      },
      [&] {
        rates.push_back(reached / spec.unit_size);
        limits.push_back((before + after) / 2 / spec.unit_size);
      });
  Row row{.spec = spec, .value = measure::estimate_median(rates)};
  if (limit) {
    row.limit = measure::median(limits);
    row.share = measure::estimate_ratio(rates, limits);
  }
  finish(std::move(row));
}

std::vector<std::vector<double>> LimitsRun::take_turns(const std::vector<Arm>& arms, double unit_size) {
  std::vector<std::vector<double>> times(arms.size());
  std::vector<double> round(arms.size());
  for (const Arm& arm : arms) arm.seconds();
  std::size_t first = 0;  // nobody always runs behind the same one
  rounds(
      options_.rounds,
      [&] {
        for (std::size_t i = 0; i < arms.size(); ++i) {
          const std::size_t arm = (first + i) % arms.size();
          round[arm] = arms[arm].seconds() / unit_size;
        }
        ++first;
      },
      [&] {
        for (std::size_t arm = 0; arm < arms.size(); ++arm) times[arm].push_back(round[arm]);
      });
  return times;
}

void LimitsRun::compare(const RowSpec& spec, const std::vector<Arm>& arms) {
  if (!wants(spec.what)) return;
  TW_CHECK(arms.size() >= 2);
  const std::vector<std::vector<double>> times = take_turns(arms, spec.unit_size);
  std::size_t best = 1;
  for (std::size_t arm = 2; arm < arms.size(); ++arm)
    if (measure::median(times[arm]) < measure::median(times[best])) best = arm;
  finish({.spec = spec,
          .value = measure::estimate_median(times[0]),
          .limit = measure::median(times[best]),
          .share = spec.at_most ? measure::estimate_ratio(times[0], times[best])
                                : measure::estimate_ratio(times[best], times[0]),
          .rival = arms[best].name,
          .best_ratio = spec.at_most ? measure::lowest(times[0]) / measure::lowest(times[best])
                                     : measure::lowest(times[best]) / measure::lowest(times[0])});
}

std::vector<std::vector<double>> LimitsRun::compare_all(const RowSpec& baseline, const Arm& arm,
                                                        const std::vector<Rated>& rows) {
  if (std::none_of(rows.begin(), rows.end(), [&](const Rated& row) { return wants(row.spec.what); })) return {};
  std::vector<Arm> arms = {arm};
  for (const Rated& row : rows) arms.push_back({row.spec.what, row.seconds});
  std::vector<std::vector<double>> times = take_turns(arms, baseline.unit_size);
  finish({.spec = baseline, .value = measure::estimate_median(times[0])});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double>&own = times[i + 1], &base = times[0];
    const bool at_most = rows[i].spec.at_most;
    finish({.spec = rows[i].spec,
            .value = measure::estimate_median(own),
            .limit = measure::median(base),
            .share = at_most ? measure::estimate_ratio(own, base) : measure::estimate_ratio(base, own),
            .rival = arm.name,
            .best_ratio =
                at_most ? measure::lowest(own) / measure::lowest(base) : measure::lowest(base) / measure::lowest(own)});
  }
  return times;
}

void LimitsRun::record(const RowSpec& spec, int samples, const std::function<double()>& value) {
  if (!wants(spec.what)) return;
  std::vector<double> values;
  double reached = 0;
  rounds(
      samples, [&] { reached = value(); }, [&] { values.push_back(reached / spec.unit_size); });
  finish({.spec = spec, .value = measure::estimate_median(values)});
}

void LimitsRun::finish(Row row) {
  const double reached = row.share ? row.share->value : row.value.value;
  if (row.spec.bar) {
    const double bar = *row.spec.bar;
    row.met = row.spec.at_most ? reached <= bar : reached >= bar;
    if (row.spec.claimed_only && row.share && row.share->interval)
      row.met = row.spec.at_most ? !row.share->claims_above(bar) : !row.share->claims_below(bar);
  }
  row.above_limit = !row.spec.yardstick && row.rival.empty() && row.share && row.share->claims_above(1.02);
  std::string text = fmt::format("{:<46} {:>9.4g} {:<8}", row.spec.what, row.value.value, row.spec.unit);
  const double low = row.share ? row.share->low() : row.value.low(),
               high = row.share ? row.share->high() : row.value.high();
  std::string bar;
  if (!row.rival.empty()) {
    text += fmt::format(" {:>9.4g} {:>6.2f}x [{:.2f} .. {:.2f}]", row.limit, reached, low, high);
    if (row.spec.bar) bar = fmt::format("{:.4g}x", *row.spec.bar);
  } else if (row.share) {
    text += fmt::format(" {:>9.4g} {:>6.1f}% [{:.1f} .. {:.1f}]", row.limit, 100 * reached, 100 * low, 100 * high);
    if (row.spec.bar) bar = fmt::format("{:.4g}%", 100 * *row.spec.bar);
  } else {
    text += fmt::format(" {:>9} {:>7} [{:.4g} .. {:.4g}]", "", "", low, high);
    if (row.spec.bar) bar = fmt::format("{:.4g}", *row.spec.bar);
  }
  if (row.spec.bar)
    text += fmt::format("  bar {}{} {}", row.spec.at_most ? "<= " : "", bar, row.met ? "met" : "NOT MET");
  if (!row.rival.empty()) text += fmt::format("  against {} (best rounds {:.2f}x)", row.rival, row.best_ratio);
  if (row.above_limit) text += "  WRONG LIMIT";
  fmt::print("{}\n", text);
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

bool LimitsRun::wants_any(const std::vector<std::string>& whats) const {
  return std::any_of(whats.begin(), whats.end(), [&](const std::string& what) { return wants(what); });
}

void LimitsRun::not_run(const std::string& what, const std::string& reason) {
  fmt::print("{:<46} not run: {}\n", what, reason);
  not_run_.push_back({{"what", what}, {"not_run", reason}});
}

void LimitsRun::note(const std::string& what, const std::string& text, Json json) {
  fmt::print("{}:\n{}", what, text);
  std::fflush(stdout);
  notes_[what] = std::move(json);
}

void LimitsRun::settle() const { std::this_thread::sleep_for(std::chrono::milliseconds(15)); }

void LimitsRun::print_header() const {
  const CpuInfo info = cpu_info();
  fmt::print(
      "{}, {}, {} threads, {} rounds; medians; shares of the limit read in the same round, or\n"
      "ratios to what took turns with it, with 95 % intervals\n",
      info.model, isa_name(options_.isa), options_.threads, options_.rounds);
  fmt::print("{:<46} {:>9} {:<8} {:>9} {:>7}\n", "what", "value", "unit", "limit", "share");
}

Json LimitsRun::rows_json() const {
  Json rows = Json::array();
  for (const Row& row : rows_) {
    const measure::Estimate& interval = row.share ? *row.share : row.value;
    Json json = {{"what", row.spec.what}, {"value", row.value.value}, {"unit", row.spec.unit},
                 {"met", row.met},        {"low", interval.low()},    {"high", interval.high()}};
    json["limit"] = row.share ? Json(row.limit) : Json();
    json["limit_kind"] = limit_name(row.spec.limit);
    json["rival"] = row.rival;
    if (!row.rival.empty()) json["best_ratio"] = row.best_ratio;
    json["share"] = row.share ? Json(row.share->value) : Json();
    json["bar"] = row.spec.bar ? Json(*row.spec.bar) : Json();
    rows.push_back(std::move(json));
  }
  for (const Json& row : not_run_) rows.push_back(row);
  return rows;
}

void LimitsRun::print_summary() const {
  using report::Align;
  report::Table table(
      {{"bar"}, {"reached", Align::right}, {"95 % interval", Align::right}, {"at least", Align::right}, {""}});
  for (const Row& row : rows_) {
    if (!row.spec.bar) continue;
    const bool percent = row.share && row.rival.empty();
    const double size = percent ? 100 : 1;
    const std::string unit = percent ? " %" : !row.rival.empty() ? " x" : " " + row.spec.unit;
    const measure::Estimate& estimate = row.share ? *row.share : row.value;
    table.add_row({row.spec.what, fmt::format("{:.3g}{}", size * estimate.value, unit),
                   estimate.interval ? fmt::format("{:.3g} .. {:.3g}", size * estimate.low(), size * estimate.high())
                                     : std::string("no claim"),
                   fmt::format("{}{:.3g}{}", row.spec.at_most ? "at most " : "", size * *row.spec.bar, unit),
                   row.met ? "met" : "NOT MET"});
  }
  for (const Json& row : not_run_)
    table.add_row({row.at("what").get<std::string>(), "", "", "", "not run: " + row.at("not_run").get<std::string>()});
  fmt::print("\n{}", table.text(160));
}

int LimitsRun::conclude(const std::string& kind, const std::string& report_file, bool with_summary) const {
  if (!report_file.empty())
    report::write_report(report_file, {.kind = kind,
                                       .result = {{"isa", std::string(isa_name(options_.isa))},
                                                  {"threads", options_.threads},
                                                  {"rounds", options_.rounds},
                                                  {"disturbed_rounds", disturbed_},
                                                  {"rows", rows_json()},
                                                  {"notes", notes_}}});
  if (with_summary) print_summary();
  if (disturbed_)
    fmt::print("{} rounds count although other processes took a processor away: run again on a quiet machine\n",
               disturbed_);
  const auto count = [&](auto test) { return std::count_if(rows_.begin(), rows_.end(), test); };
  if (const auto unmet = count([](const Row& row) { return !row.met; })) fmt::print("{} bars are not met\n", unmet);
  if (!count([](const Row& row) { return row.above_limit; })) return 0;
  fmt::print(stderr, "some work is faster than its limit: the limit is measured wrongly\n");
  return 1;
}

}  // namespace tilewright::bench

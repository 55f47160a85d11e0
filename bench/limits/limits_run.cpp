#include "limits/limits_run.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"

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

void LimitsRun::measure(const RowSpec& spec, const std::function<double()>& rate, double scale) {
  if (!wants(spec.what)) return;
  std::vector<double> rates, limits;
  rate();
  // A round in which another process took a processor away is repeated, at most so often that a busy machine still
  // ends.
  int repeats = kMostRepeats * options_.rounds;
  long taken = preemptions();
  double before = read_limit(spec.limit);
  while (static_cast<int>(rates.size()) < options_.rounds) {
    const double reached = rate() / spec.unit_size, after = read_limit(spec.limit);
    const long now = preemptions();
    if (now == taken || repeats <= 0) {
      rates.push_back(reached);
      limits.push_back((before + after) / 2 / scale / spec.unit_size);
      disturbed_ += now != taken;
    } else {
      --repeats;
    }
    before = after;
    taken = now;
  }
  Row row{.spec = spec, .value = measure::estimate_median(rates)};
  if (spec.limit != LimitKind::none) {
    row.limit = measure::median(limits);
    row.share = measure::estimate_ratio(rates, limits);
  }
  finish(std::move(row));
}

void LimitsRun::record(const RowSpec& spec, int samples, const std::function<double()>& value) {
  if (!wants(spec.what)) return;
  std::vector<double> values;
  int repeats = kMostRepeats * samples;
  while (static_cast<int>(values.size()) < samples) {
    const long taken = preemptions();
    const double reached = value() / spec.unit_size;
    const bool calm = preemptions() == taken;
    if (!calm && repeats-- > 0) continue;
    values.push_back(reached);
    disturbed_ += !calm;
  }
  finish({.spec = spec, .value = measure::estimate_median(values)});
}

void LimitsRun::finish(Row row) {
  const double reached = row.share ? row.share->value : row.value.value;
  if (row.spec.bar) row.met = row.spec.at_most ? reached <= *row.spec.bar : reached >= *row.spec.bar;
  row.above_limit = row.share && row.share->claims_above(1.02);
  std::string text = fmt::format("{:<46} {:>9.4g} {:<8}", row.spec.what, row.value.value, row.spec.unit);
  if (row.share)
    text += fmt::format(" {:>9.4g} {:>6.1f}% [{:.1f} .. {:.1f}]", row.limit, 100 * row.share->value,
                        100 * row.share->low(), 100 * row.share->high());
  else
    text += fmt::format(" {:>9} {:>7} [{:.4g} .. {:.4g}]", "", "", row.value.low(), row.value.high());
  if (row.spec.bar)
    text +=
        fmt::format("  bar {}{:.4g}{} {}", row.spec.at_most ? "<= " : "",
                    row.share ? 100 * *row.spec.bar : *row.spec.bar, row.share ? "%" : "", row.met ? "met" : "NOT MET");
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

void LimitsRun::print_header() const {
  const CpuInfo info = cpu_info();
  fmt::print("{}, {}, {} threads, {} rounds; medians, shares of the limit read in the same round with 95 % intervals\n",
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
    json["share"] = row.share ? Json(row.share->value) : Json();
    json["bar"] = row.spec.bar ? Json(*row.spec.bar) : Json();
    rows.push_back(std::move(json));
  }
  for (const Json& row : not_run_) rows.push_back(row);
  return rows;
}

int LimitsRun::exit_code() const {
  for (const Row& row : rows_)
    if (row.above_limit) return 1;
  return 0;
}

int LimitsRun::unmet() const {
  int count = 0;
  for (const Row& row : rows_) count += !row.met;
  return count;
}

}  // namespace tilewright::bench

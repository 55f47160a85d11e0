#include "measure/summary.h"

#include "measure/split.h"
#include "measure/statistics.h"

namespace tilewright::measure {
namespace {

bool measured(const ArmResult& arm) { return arm.status == ArmStatus::measured && !arm.seconds.empty(); }

}  // namespace

void summarize(ArmResult& arm, std::int64_t tokens, const std::vector<double>& limits) {
  if (arm.seconds.empty()) return;
  arm.median_s = median(arm.seconds);
  arm.best_s = lowest(arm.seconds);
  arm.spread_low = quantile(arm.seconds, 0.25);
  arm.spread_high = quantile(arm.seconds, 0.75);
  arm.rate_median = static_cast<double>(tokens) / *arm.median_s;
  arm.rate_best = static_cast<double>(tokens) / *arm.best_s;
  if (limits.size() == arm.seconds.size()) arm.limit_share = estimate_ratio(limits, arm.seconds).value;
}

void compare_arms(std::vector<ArmResult>& arms) {
  const ArmResult* base = nullptr;
  for (const ArmResult& arm : arms)
    if (measured(arm) && (!base || arm.name == "eager")) base = &arm;
  for (ArmResult& arm : arms) {
    if (!measured(arm) || &arm == base) continue;
    const Estimate speed = estimate_ratio(base->seconds, arm.seconds);
    Ratio ratio{.against = base->name, .value = speed.value};
    if (speed.interval) {
      ratio.low = speed.interval->low;
      ratio.high = speed.interval->high;
    }
    ratio.claimed = speed.claims_above(1) || speed.claims_below(1);
    ratio.best_of = *base->best_s / *arm.best_s;
    arm.ratio = ratio;
  }
}

std::vector<Difference> differences(const std::vector<ArmResult>& arms) {
  std::vector<Difference> out;
  for (std::size_t i = 0; i < arms.size(); ++i)
    for (std::size_t j = i + 1; j < arms.size(); ++j)
      if (measured(arms[i]) && measured(arms[j]) && arms[i].split && arms[j].split)
        out.push_back(difference(arms[i], arms[j]));
  return out;
}

}  // namespace tilewright::measure

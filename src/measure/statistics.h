// Medians with honest intervals. A difference is claimed only where the interval excludes it, and under six samples
// there is no interval (DESIGN "Reports").
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tilewright::measure {

// All need at least one sample, none of them NaN. Linear interpolation between order statistics (Hyndman and Fan's type
// 7).
double quantile(std::span<const double> samples, double q);  // 0 ≤ q ≤ 1
double median(std::span<const double> samples);
double lowest(std::span<const double> samples);
double highest(std::span<const double> samples);
// Distance between the quartiles, divided by the median; 0 for a median of 0.
double relative_spread(std::span<const double> samples);

struct Interval {
  double low = 0, high = 0;
};
struct Estimate {
  double value = 0;                  // the median
  std::optional<Interval> interval;  // 95 %; none under kLeastSamples
  double low() const { return interval ? interval->low : value; }
  double high() const { return interval ? interval->high : value; }
  bool claims_above(double bound) const { return interval && interval->low > bound; }
  bool claims_below(double bound) const { return interval && interval->high < bound; }
};

constexpr std::size_t kLeastSamples = 6;
constexpr std::uint64_t kDefaultSeed = 20240601;

// The median and its percentile-bootstrap interval from 2,000 resamples: the same samples and seed give the same
// numbers on every machine.
Estimate estimate_median(std::span<const double> samples, std::uint64_t seed = kDefaultSeed);
// The median of numerator[i] / denominator[i]: what two arms measured in one round have in common cancels.
Estimate estimate_ratio(std::span<const double> numerator, std::span<const double> denominator,
                        std::uint64_t seed = kDefaultSeed);

}  // namespace tilewright::measure

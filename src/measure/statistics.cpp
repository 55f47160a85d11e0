#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace tilewright::measure {
namespace {

constexpr int kResamples = 2000;

// splitmix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<std::size_t>((z >> 32) * static_cast<std::uint64_t>(bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

double sorted_quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  if (sorted[below] == sorted[above]) return sorted[below];  // also keeps infinities whole
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  TW_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  for (double sample : sorted) TW_CHECK(!std::isnan(sample));
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  TW_CHECK(q >= 0 && q <= 1);
  return sorted_quantile(sorted_copy(samples), q);
}
double median(std::span<const double> samples) { return quantile(samples, 0.5); }
double lowest(std::span<const double> samples) { return quantile(samples, 0); }
double highest(std::span<const double> samples) { return quantile(samples, 1); }

double relative_spread(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  const double middle = sorted_quantile(sorted, 0.5);
  return middle == 0 ? 0 : (sorted_quantile(sorted, 0.75) - sorted_quantile(sorted, 0.25)) / std::abs(middle);
}

Estimate estimate_median(std::span<const double> samples, std::uint64_t seed) {
  const std::vector<double> sorted = sorted_copy(samples);
  Estimate estimate{.value = sorted_quantile(sorted, 0.5)};
  if (sorted.size() < kLeastSamples) return estimate;
  Random random(seed);
  std::vector<double> medians(kResamples), resample(sorted.size());
  for (double& each : medians) {
    for (double& sample : resample) sample = sorted[random.below(sorted.size())];
    std::sort(resample.begin(), resample.end());
    each = sorted_quantile(resample, 0.5);
  }
  std::sort(medians.begin(), medians.end());
  estimate.interval = Interval{sorted_quantile(medians, 0.025), sorted_quantile(medians, 0.975)};
  return estimate;
}

Estimate estimate_ratio(std::span<const double> numerator, std::span<const double> denominator, std::uint64_t seed) {
  TW_CHECK(numerator.size() == denominator.size());
  std::vector<double> ratios(numerator.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    TW_CHECK(denominator[i] != 0);
    ratios[i] = numerator[i] / denominator[i];
  }
  return estimate_median(ratios, seed);
}

}  // namespace tilewright::measure

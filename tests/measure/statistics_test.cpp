#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tilewright::measure {
namespace {

std::vector<double> skewed(std::mt19937_64& random, std::size_t count) {
  std::lognormal_distribution<double> noise(0, 0.2);
  std::vector<double> samples(count);
  for (double& sample : samples) sample = noise(random);
  return samples;
}

TEST(Statistics, QuantilesInterpolateOrderStatistics) {
  const std::vector<double> samples = {4, 1, 3, 2};
  EXPECT_EQ(median(samples), 2.5);
  EXPECT_EQ(quantile(samples, 0), 1);
  EXPECT_EQ(quantile(samples, 1), 4);
  EXPECT_NEAR(quantile(samples, 0.25), 1.75, 1e-12);
  EXPECT_EQ(lowest(samples), 1);
  EXPECT_EQ(highest(samples), 4);
  EXPECT_NEAR(relative_spread(samples), 1.5 / 2.5, 1e-12);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_EQ(quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(Statistics, OrderDoesNotMatterAndUnitsScale) {
  std::mt19937_64 random(1);
  std::vector<double> samples = skewed(random, 25), shuffled = samples, scaled = samples, shifted = samples;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  for (double& sample : scaled) sample *= 1024;  // a power of two: exact
  for (double& sample : shifted) sample += 3;
  const Estimate a = estimate_median(samples), b = estimate_median(shuffled), c = estimate_median(scaled),
                 d = estimate_median(shifted);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.low(), b.low());
  EXPECT_EQ(a.high(), b.high());
  EXPECT_EQ(c.value, 1024 * a.value);
  EXPECT_EQ(c.low(), 1024 * a.low());
  EXPECT_EQ(c.high(), 1024 * a.high());
  EXPECT_NEAR(d.low(), a.low() + 3, 1e-12);
  EXPECT_NEAR(d.high(), a.high() + 3, 1e-12);
  EXPECT_LE(a.low(), a.value);
  EXPECT_GE(a.high(), a.value);
}

TEST(Statistics, IntervalCoversTheTrueMedianAboutNineteenTimesInTwenty) {
  std::mt19937_64 random(2);
  int covered = 0;
  const int trials = 400;
  for (int i = 0; i < trials; ++i) {
    const Estimate e = estimate_median(skewed(random, 21), static_cast<std::uint64_t>(i));
    covered += e.low() <= 1 && 1 <= e.high();  // the median of a lognormal around 0
  }
  // A binomial of 0.95 has a standard deviation of 4.4 here; the percentile bootstrap of a median of 21 is within a few
  // percent of nominal. Four deviations and three percent to either side.
  EXPECT_GE(covered, 350);
  EXPECT_LE(covered, 399);
}

TEST(Statistics, MoreSamplesNarrowTheInterval) {
  std::mt19937_64 random(3);
  const Estimate few = estimate_median(skewed(random, 12)), many = estimate_median(skewed(random, 1200));
  EXPECT_LT(many.high() - many.low(), (few.high() - few.low()) / 2);  // by the law of √n: a tenth
}

TEST(Statistics, UnderSixSamplesNothingIsClaimed) {
  const std::vector<double> five = {2, 2, 2, 2, 2}, six = {2, 2, 2, 2, 2, 2};
  EXPECT_FALSE(estimate_median(five).interval.has_value());
  EXPECT_FALSE(estimate_median(five).claims_above(1));
  EXPECT_FALSE(estimate_median(five).claims_below(3));
  EXPECT_TRUE(estimate_median(six).claims_above(1));
  EXPECT_TRUE(estimate_median(six).claims_below(3));
  EXPECT_FALSE(estimate_median(six).claims_above(2));
}

TEST(Statistics, PairedRatiosCancelWhatARoundHasInCommon) {
  std::mt19937_64 random(4);
  std::lognormal_distribution<double> weather(0, 0.5);
  std::vector<double> a, b, swapped;
  for (int i = 0; i < 20; ++i) {
    const double common = weather(random);
    a.push_back(1.1 * common);
    b.push_back(common);
  }
  const Estimate ratio = estimate_ratio(a, b), back = estimate_ratio(b, a);
  EXPECT_NEAR(ratio.value, 1.1, 1e-12);
  EXPECT_TRUE(ratio.claims_above(1.0999));
  EXPECT_NEAR(ratio.value * back.value, 1, 1e-12);
  EXPECT_EQ(estimate_ratio(a, a).low(), 1);
  EXPECT_EQ(estimate_ratio(a, a).high(), 1);
  // Round by round, and not of the medians: those would give 2 / 3.
  const double uneven[] = {1, 2, 9}, other[] = {1, 4, 3};
  EXPECT_EQ(estimate_ratio(uneven, other).value, 1);
}

TEST(Statistics, SeedDecidesAndEqualSeedsAgree) {
  std::mt19937_64 random(5);
  const std::vector<double> samples = skewed(random, 30);
  EXPECT_EQ(estimate_median(samples, 7).low(), estimate_median(samples, 7).low());
  bool differs = false;
  for (std::uint64_t seed = 8; seed < 20; ++seed)
    differs |= estimate_median(samples, seed).low() != estimate_median(samples, 7).low();
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace tilewright::measure

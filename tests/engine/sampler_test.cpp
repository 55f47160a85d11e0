// The order and the arithmetic of the reference implementation's sampling, on distributions small enough to do by hand.
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"

namespace tilewright::engine {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<Sampler::Candidate> left(Sampling s, std::vector<float> logits, const Ids& history = {}) {
  return Sampler(s).candidates(logits, history);
}
Ids ids(const std::vector<Sampler::Candidate>& c) {
  Ids out;
  for (const auto& each : c) out.push_back(each.id);
  return out;
}

const std::vector<float> kLogits{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

TEST(Sampler, ProbabilitiesAreSoftmaxOfTheLogits) {
  const auto c = left({.sample = true}, kLogits);
  EXPECT_EQ(ids(c), (Ids{1, 3, 2, 0}));
  EXPECT_NEAR(c[0].probability, 0.4, 1e-6);
  EXPECT_NEAR(c[3].probability, 0.1, 1e-6);
}

TEST(Sampler, TemperatureSharpens) {
  const auto c = left({.sample = true, .temperature = 0.5}, kLogits);
  EXPECT_NEAR(c[0].probability, 0.16 / (0.01 + 0.16 + 0.04 + 0.09), 1e-6);
}

TEST(Sampler, TopKKeepsTies) {
  EXPECT_EQ(ids(left({.sample = true, .top_k = 2}, kLogits)), (Ids{1, 3}));
  EXPECT_EQ(ids(left({.sample = true, .top_k = 2}, {1, 3, 2, 2})), (Ids{1, 2, 3}));
  EXPECT_EQ(left({.sample = true, .top_k = 0}, kLogits).size(), 4u);
  EXPECT_EQ(left({.sample = true, .top_k = 9}, kLogits).size(), 4u);
}

// Ascending, everything whose cumulative probability is at most 1 - top_p goes.
TEST(Sampler, TopPRemovesFromTheImprobableEnd) {
  EXPECT_EQ(ids(left({.sample = true, .top_p = 0.95}, kLogits)), (Ids{1, 3, 2, 0}));  // 0.1 > 0.05
  EXPECT_EQ(ids(left({.sample = true, .top_p = 0.85}, kLogits)), (Ids{1, 3, 2}));     // 0.1 <= 0.15 < 0.3
  EXPECT_EQ(ids(left({.sample = true, .top_p = 0.65}, kLogits)), (Ids{1, 3}));
  EXPECT_EQ(ids(left({.sample = true, .top_p = 0.0}, kLogits)), (Ids{1}));
}

TEST(Sampler, MinPIsAShareOfTheBest) {
  EXPECT_EQ(ids(left({.sample = true, .min_p = 0.3}, kLogits)), (Ids{1, 3, 2}));
  EXPECT_EQ(ids(left({.sample = true, .min_p = 1.0}, kLogits)), (Ids{1}));
}

// top_p works on what top_k left, so it sees other probabilities than on all; min_p on what both left.
TEST(Sampler, OrderIsTemperatureTopKTopPMinP) {
  // After top_k 2: 4/7 and 3/7. 3/7 <= 1 - 0.5, so the second one goes; on all four it would have stayed (0.6 > 0.5).
  EXPECT_EQ(ids(left({.sample = true, .top_k = 2, .top_p = 0.5}, kLogits)), (Ids{1}));
  EXPECT_EQ(ids(left({.sample = true, .top_p = 0.5}, kLogits)), (Ids{1, 3}));
  // At temperature 0.25 the second best has (3/4)^4 = 0.316 of the best one's probability, without it 0.75.
  EXPECT_EQ(ids(left({.sample = true, .temperature = 0.25, .min_p = 0.32}, kLogits)), (Ids{1}));
  EXPECT_EQ(ids(left({.sample = true, .min_p = 0.32}, kLogits)), (Ids{1, 3, 2}));
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  const auto c = left({.sample = true, .repetition_penalty = 2}, {2.0f, -1.0f, 1.0f}, {0, 1, 1, 99});
  std::map<std::int64_t, double> p;
  for (const auto& each : c) p[each.id] = each.probability;
  EXPECT_NEAR(p[0] / p[2], 1.0, 1e-6);                   // 2/2 against 1
  EXPECT_NEAR(p[1] / p[2], std::exp(-2.0 - 1.0), 1e-6);  // once, though it occurs twice
}

TEST(Sampler, GreedyTakesTheFirstBestAfterThePenalty) {
  std::vector<float> logits{1, 3, 3, 2};
  EXPECT_EQ(Sampler({}).choose(logits, {}), 1);
  EXPECT_EQ(Sampler({.sample = true, .temperature = 0}).choose(logits, {}), 1);
  const Ids seen{1};
  EXPECT_EQ(Sampler({.repetition_penalty = 1.5}).choose(logits, seen), 2);
}

TEST(Sampler, DrawsFollowTheProbabilitiesAndTheSeed) {
  Sampler a({.sample = true, .seed = 7}), b({.sample = true, .seed = 7}), c({.sample = true, .seed = 8});
  std::map<std::int64_t, int> counts;
  Ids from_a, from_b, from_c;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    auto logits = kLogits;
    from_a.push_back(a.choose(logits, {}));
    logits = kLogits;
    from_b.push_back(b.choose(logits, {}));
    logits = kLogits;
    from_c.push_back(c.choose(logits, {}));
    ++counts[from_a.back()];
  }
  EXPECT_EQ(from_a, from_b);
  EXPECT_NE(from_a, from_c);
  // Five standard deviations of a share drawn 20,000 times are below 0.018.
  EXPECT_NEAR(counts[1] / double(kDraws), 0.4, 0.018);
  EXPECT_NEAR(counts[0] / double(kDraws), 0.1, 0.018);
}

TEST(Sampler, RefusesNonsense) {
  EXPECT_THROW(check_sampling({.temperature = -1}), Error);
  EXPECT_THROW(check_sampling({.temperature = NAN}), Error);
  EXPECT_THROW(check_sampling({.top_k = -1}), Error);
  EXPECT_THROW(check_sampling({.top_p = 1.1}), Error);
  EXPECT_THROW(check_sampling({.min_p = -0.1}), Error);
  EXPECT_THROW(check_sampling({.repetition_penalty = 0}), Error);
  EXPECT_NO_THROW(check_sampling({}));
  std::vector<float> logits{1, NAN};
  EXPECT_THROW(Sampler({}).choose(logits, {}), Error);
}

}  // namespace
}  // namespace tilewright::engine

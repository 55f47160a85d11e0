#include "engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilewright::engine {
namespace {

void want(bool good, const char* flag, const char* expected, double found) {
  if (!good)
    fail({.what = "a sampling value makes no sense",
          .where = flag,
          .expected = expected,
          .found = fmt::format("{}", found),
          .fix = ""});
}

struct Scored {
  std::int64_t id;
  float score;
};

bool better(const Scored& a, const Scored& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; }

void penalise(std::span<float> logits, std::span<const std::int64_t> history, double penalty) {
  std::vector<std::int64_t> seen(history.begin(), history.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  const float p = static_cast<float>(penalty);
  for (const std::int64_t id : seen) {
    if (id < 0 || id >= static_cast<std::int64_t>(logits.size())) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit < 0 ? logit * p : logit / p;
  }
}

// Probabilities of sorted scores; they sum to 1.
std::vector<double> softmax(const std::vector<Scored>& sorted) {
  std::vector<double> out(sorted.size());
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    sum += out[i] = std::exp(static_cast<double>(sorted[i].score) - static_cast<double>(sorted[0].score));
  for (double& p : out) p /= sum;
  return out;
}

void keep_top_k(std::vector<Scored>& all, std::int64_t k) {
  if (k <= 0 || k >= static_cast<std::int64_t>(all.size())) return;
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(all.begin(), last, all.end(), better);
  const float least = last->score;
  std::erase_if(all, [least](const Scored& s) { return s.score < least; });
}

// Removes from the improbable end while what has been removed sums to at most 1 - top_p; the best one stays.
void keep_top_p(std::vector<Scored>& sorted, double top_p) {
  if (top_p >= 1) return;
  const std::vector<double> p = softmax(sorted);
  double removed = 0;
  std::size_t keep = sorted.size();
  while (keep > 1 && removed + p[keep - 1] <= 1 - top_p) removed += p[--keep];
  sorted.resize(keep);
}

void keep_min_p(std::vector<Scored>& sorted, double min_p) {
  if (min_p <= 0) return;
  const std::vector<double> p = softmax(sorted);
  std::size_t keep = sorted.size();
  while (keep > 1 && p[keep - 1] < min_p * p[0]) --keep;
  sorted.resize(keep);
}

}  // namespace

void check_sampling(const Sampling& s) {
  want(s.temperature >= 0 && std::isfinite(s.temperature), "--temperature", "0 (greedy) or more", s.temperature);
  want(s.top_k >= 0, "--top-k", "0 (all) or more", static_cast<double>(s.top_k));
  want(s.top_p >= 0 && s.top_p <= 1, "--top-p", "0 to 1", s.top_p);
  want(s.min_p >= 0 && s.min_p <= 1, "--min-p", "0 to 1", s.min_p);
  want(s.repetition_penalty > 0 && std::isfinite(s.repetition_penalty), "--repetition-penalty", "a positive number",
       s.repetition_penalty);
}

std::vector<Sampler::Candidate> Sampler::candidates(std::span<float> logits,
                                                    std::span<const std::int64_t> history) const {
  TW_CHECK(!logits.empty());
  if (sampling_.repetition_penalty != 1) penalise(logits, history, sampling_.repetition_penalty);
  std::vector<Scored> all;
  const float inverse = sampling_.greedy() ? 1.0f : 1.0f / static_cast<float>(sampling_.temperature);
  all.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      fail({.what = "the model computed a NaN",
            .where = fmt::format("logit {}", i),
            .expected = "finite numbers",
            .found = "NaN",
            .fix = "check the weights, or run in --dtype f32"});
    all.push_back({static_cast<std::int64_t>(i), logits[i] * inverse});
  }
  if (sampling_.greedy()) {
    const Scored best = *std::min_element(all.begin(), all.end(), better);
    return {{best.id, 1.0}};
  }
  keep_top_k(all, sampling_.top_k);
  std::sort(all.begin(), all.end(), better);
  keep_top_p(all, sampling_.top_p);
  keep_min_p(all, sampling_.min_p);
  const std::vector<double> p = softmax(all);
  std::vector<Candidate> out;
  for (std::size_t i = 0; i < all.size(); ++i) out.push_back({all[i].id, p[i]});
  return out;
}

std::int64_t Sampler::choose(std::span<float> logits, std::span<const std::int64_t> history) {
  const std::vector<Candidate> left = candidates(logits, history);
  if (left.size() == 1) return left[0].id;
  // 53 random bits: std distributions differ between libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  for (const Candidate& c : left)
    if ((at -= c.probability) < 0) return c.id;
  return left.back().id;
}

}  // namespace tilewright::engine

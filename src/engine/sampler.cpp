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

using Candidate = Sampler::Candidate;

bool better(const Candidate& a, const Candidate& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

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

// From here on `probability` is relative to the best one until survivors() makes the sum 1.

void keep_top_k(std::vector<Candidate>& all, std::int64_t k) {
  if (k <= 0 || k >= static_cast<std::int64_t>(all.size())) return;
  const auto last = all.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(all.begin(), last, all.end(), better);
  const double least = last->probability;
  std::erase_if(all, [least](const Candidate& c) { return c.probability < least; });
}

double sum_of(const std::vector<Candidate>& all) {
  double sum = 0;
  for (const Candidate& c : all) sum += c.probability;
  return sum;
}

// Removes from the improbable end while what has been removed sums to at most 1 - top_p; the best one stays. Those
// below an n-th part of that sum go in any case, so that a vocabulary need not be sorted for a few survivors.
void keep_top_p(std::vector<Candidate>& all, double top_p) {
  if (top_p >= 1) return;
  const double allowed = (1 - top_p) * sum_of(all);
  const double surely = allowed / static_cast<double>(all.size());
  double removed = 0;
  std::erase_if(all, [&](const Candidate& c) {
    const bool gone = c.probability < surely && c.probability < 1;
    if (gone) removed += c.probability;
    return gone;
  });
  std::sort(all.begin(), all.end(), better);
  std::size_t keep = all.size();
  while (keep > 1 && removed + all[keep - 1].probability <= allowed) removed += all[--keep].probability;
  all.resize(keep);
}

void keep_min_p(std::vector<Candidate>& all, double min_p) {
  if (min_p <= 0) return;
  std::erase_if(all, [min_p](const Candidate& c) { return c.probability < min_p && c.probability < 1; });
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

std::vector<Candidate> Sampler::survivors(std::span<float> logits, std::span<const std::int64_t> history) const {
  TW_CHECK(!logits.empty());
  if (sampling_.repetition_penalty != 1) penalise(logits, history, sampling_.repetition_penalty);
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      fail({.what = "the model computed a NaN",
            .where = fmt::format("logit {}", i),
            .expected = "finite numbers",
            .found = "NaN",
            .fix = "check the weights, or run in --dtype f32"});
    if (logits[i] > logits[best]) best = i;
  }
  if (sampling_.greedy()) return {{static_cast<std::int64_t>(best), 1.0}};
  std::vector<Candidate> all(logits.size());
  const float largest = logits[best];
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The best one has exactly 1, also if it is infinite.
    const double distance =
        logits[i] == largest ? 0.0 : (static_cast<double>(logits[i]) - largest) / sampling_.temperature;
    all[i] = {static_cast<std::int64_t>(i), std::exp(distance)};
  }
  keep_top_k(all, sampling_.top_k);
  keep_top_p(all, sampling_.top_p);
  keep_min_p(all, sampling_.min_p);
  const double sum = sum_of(all);
  for (Candidate& c : all) c.probability /= sum;
  return all;
}

std::vector<Candidate> Sampler::candidates(std::span<float> logits, std::span<const std::int64_t> history) const {
  std::vector<Candidate> out = survivors(logits, history);
  std::sort(out.begin(), out.end(), better);
  return out;
}

std::int64_t Sampler::choose(std::span<float> logits, std::span<const std::int64_t> history) {
  const std::vector<Candidate> left = survivors(logits, history);
  if (left.size() == 1) return left[0].id;
  // 53 random bits: std distributions differ between libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  for (const Candidate& c : left)
    if ((at -= c.probability) < 0) return c.id;
  return left.back().id;
}

}  // namespace tilewright::engine

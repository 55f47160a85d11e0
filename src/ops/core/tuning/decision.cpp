#include "ops/core/tuning/decision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilewright::ops {
namespace {

constexpr std::size_t kLeastRatios = 6, kMostArms = 16, kLongestText = 2000;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

// The largest k for which the k-th lowest and the k-th highest of n values enclose the median with 95 %: 2 P(X < k) ≤ 5
// % for X binomial (n, 1/2).
std::size_t rank_of_interval(std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), below = 0;
  std::size_t k = 0;
  while (2 * (below + term) <= 0.05) {
    below += term;
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return k;
}

// Of a length that ours have, and nothing that would act on a terminal.
bool plain_text(const Json& json, const char* key) {
  if (!json.contains(key) || !json[key].is_string()) return false;
  const std::string& text = json[key].get_ref<const std::string&>();
  return text.size() <= kLongestText &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool positive(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_number() && std::isfinite(json[key].get<double>()) &&
         json[key].get<double>() > 0;
}

}  // namespace

Gain gain_of(const std::vector<double>& decomposition, const std::vector<double>& kernel) {
  TW_CHECK(decomposition.size() == kernel.size() && !kernel.empty());
  std::vector<double> ratios(kernel.size());
  for (std::size_t i = 0; i < kernel.size(); ++i) ratios[i] = decomposition[i] / kernel[i];
  std::sort(ratios.begin(), ratios.end());
  Gain out;
  out.median = median_of(ratios);
  out.low = out.high = out.median;
  if (ratios.size() < kLeastRatios) return out;
  const std::size_t k = rank_of_interval(ratios.size());
  out.interval = true;
  out.low = ratios[k - 1];
  out.high = ratios[ratios.size() - k];
  return out;
}

Decision decide(std::string key, const std::vector<ArmTimes>& arms) {
  TW_CHECK(!arms.empty());
  Decision out;
  out.key = std::move(key);
  out.choice = arms[0].name;
  out.rounds = static_cast<int>(arms[0].seconds.size());
  double best = 0;
  for (const ArmTimes& arm : arms) {
    const Gain gain = gain_of(arms[0].seconds, arm.seconds);
    out.arms.push_back({arm.name, median_of(arm.seconds), gain});
    if (&arm == &arms[0]) continue;
    const bool sure = gain.interval && gain.low > 1 && gain.median >= kLeastGain;
    if (!sure && !(gain.interval && gain.median >= kClearGain)) continue;
    if (const double seconds = out.arms.back().seconds; out.choice == arms[0].name || seconds < best) {
      out.choice = arm.name;
      best = seconds;
    }
  }
  return out;
}

bool settled(const std::vector<ArmTimes>& arms) {
  for (std::size_t i = 1; i < arms.size(); ++i) {
    const Gain gain = gain_of(arms[0].seconds, arms[i].seconds);
    if (!gain.interval || (gain.low < kLeastGain && gain.high > kLeastGain)) return false;
  }
  return true;
}

Json decision_to_json(const Decision& d) {
  Json arms = Json::array();
  for (const DecidedArm& arm : d.arms) {
    Json one{{"name", arm.name}, {"median_s", arm.seconds}, {"gain", arm.gain.median}};
    if (arm.gain.interval) one["gain_interval"] = {arm.gain.low, arm.gain.high};
    arms.push_back(std::move(one));
  }
  return {{"call", d.key}, {"choice", d.choice}, {"rounds", d.rounds}, {"arms", std::move(arms)}};
}

std::optional<Decision> decision_from_json(const Json& json) {
  if (!json.is_object() || !plain_text(json, "call") || !plain_text(json, "choice") || !json.contains("rounds") ||
      !json["rounds"].is_number_integer() || !json.contains("arms") || !json["arms"].is_array() ||
      json["arms"].size() > kMostArms)
    return {};
  Decision out;
  out.key = json["call"];
  out.choice = json["choice"];
  out.rounds = static_cast<int>(std::clamp<std::int64_t>(json["rounds"].get<std::int64_t>(), 0, 1'000'000));
  bool known = false;
  for (const Json& one : json["arms"]) {
    if (!one.is_object() || !plain_text(one, "name") || !positive(one, "median_s") || !positive(one, "gain")) return {};
    DecidedArm arm{one["name"], one["median_s"], {}};
    arm.gain.median = arm.gain.low = arm.gain.high = one["gain"];
    if (one.contains("gain_interval")) {
      const Json& interval = one["gain_interval"];
      if (!interval.is_array() || interval.size() != 2 || !interval[0].is_number() || !interval[1].is_number())
        return {};
      arm.gain.interval = true;
      arm.gain.low = interval[0];
      arm.gain.high = interval[1];
    }
    known = known || arm.name == out.choice;
    out.arms.push_back(std::move(arm));
  }
  if (!known || out.arms.empty() || out.arms[0].name != kDecomposition) return {};
  return out;
}

}  // namespace tilewright::ops

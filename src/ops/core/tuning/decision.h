// What a measurement of one class of calls led to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tilewright::ops {

inline constexpr std::string_view kDecomposition = "decomposition";

// Seconds a call, one number a round; in one round all arms ran in turn.
struct ArmTimes {
  std::string name;  // a candidate's, or kDecomposition for the first arm
  std::vector<double> seconds;
};

// How many times faster than the decomposition, as the median of the rounds' ratios. The interval covers the true
// median with at least 95 % whatever the distribution is (order statistics by the binomial law); there is none under
// six rounds.
struct Gain {
  double median = 0, low = 0, high = 0;
  bool interval = false;
};
Gain gain_of(const std::vector<double>& decomposition, const std::vector<double>& kernel);

struct DecidedArm {
  std::string name;
  double seconds = 0;  // the median
  Gain gain;
  bool operator==(const DecidedArm& other) const { return name == other.name && seconds == other.seconds; }
};

struct Decision {
  std::string key;     // class of the call and the candidates that were compared
  std::string choice;  // an arm's name
  int rounds = 0;
  std::vector<DecidedArm> arms;  // the decomposition first
};

// A kernel must be surely faster: its interval wholly above 1 and its median gain kLeastGain at least. One whose
// interval holds 1 is taken only from a median gain of kClearGain on; everything else stays with the decomposition.
// Among those that pass, the lowest median time.
inline constexpr double kLeastGain = 1.02, kClearGain = 1.25;
Decision decide(std::string key, const std::vector<ArmTimes>& arms);
// No more rounds would change what `decide` says: every kernel's interval lies on one side of kLeastGain.
bool settled(const std::vector<ArmTimes>& arms);

Json decision_to_json(const Decision& decision);
// Nothing if it does not have the form, or names a choice that is none of its arms.
std::optional<Decision> decision_from_json(const Json& json);

}  // namespace tilewright::ops

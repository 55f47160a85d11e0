// Several ways to do one thing take turns in rounds, so that what disturbs the machine disturbs all of them alike.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace tilewright::measure {

// One of those that take turns.
struct Contestant {
  std::string name;
  std::function<double()> sample;  // seconds of one iteration; NaN: interrupted
};

struct RoundPlan {
  int warmup = 2;  // iterations of each before the first round, not kept
  int rounds = 3;
  std::function<void(int round)> before_round = {};                   // also once more after the last, with `rounds`
  std::function<void(int round, int contestant)> before_sample = {};  // round -1: warm-up
  std::function<bool()> stop = {};                                    // asked before each sample
  std::function<void(int contestant)> failed = {};                    // it threw
};

struct RoundTimes {
  // By contestant: one time a complete round. Empty for one that threw.
  std::vector<std::vector<double>> seconds;
  std::vector<std::optional<ErrorText>> errors;  // of those that threw; the others went on
  int complete = 0;                              // rounds that everybody finished
  bool interrupted = false;
};

// Round r begins with contestant r mod n, so that nobody always runs behind the same one. A round that was interrupted
// is not kept.
RoundTimes run_rounds(const std::vector<Contestant>& contestants, const RoundPlan& plan);

// The text of an exception that an arm ended with: Error's own, or its message.
ErrorText error_text(const std::exception& exception);

}  // namespace tilewright::measure

// One share of the whole from the many stages of a benchmark, so that a bar may say what is left.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "measure/bench.h"

namespace tilewright::port {

class ArmsProgress {
 public:
  // What a stage costs is counted in iterations of an arm; the time of a case is not known, so all count the same.
  explicit ArmsProgress(const measure::BenchOptions& options);

  struct State {
    std::uint64_t done = 0, total = 1;
    std::string doing;  // "decode 128 after 8, batch 1: round 3 of 6"
  };
  // Never goes back.
  State advance(const measure::BenchProgress& at);

 private:
  std::map<std::string, double> start_, length_;  // of each stage of a case, as shares of it
  double cases_ = 1;
  double case_number_ = 0;  // of those begun, from 1; 0: none
  std::string case_;
  std::uint64_t furthest_ = 0;
};

}  // namespace tilewright::port

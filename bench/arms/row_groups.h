// The groups of rows of bench/arms, named after their files, and what they share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/arm_run.h"
#include "support/limits_run.h"

namespace tilewright::bench {

struct ArmsOptions {
  std::vector<std::string> arms = {"eager", "graph", "fused", "fused+graph"};
  std::string fuse = "all";  // switches of arms that are fused
  std::string bard = "assets/bard";
};

struct ArmsBench {
  LimitsRun& run;
  const ArmsOptions options;
  const Program program = Program();

  std::vector<measure::Arm> kinds() const { return measure::parse_arms(options.arms); }
};

void add_bard_rows(ArmsBench& bench);
void add_decode_rows(ArmsBench& bench);
void add_replay_rows(ArmsBench& bench);

}  // namespace tilewright::bench

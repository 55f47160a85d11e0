// What is known to break captures on an NPU, looked up in a pass's calls: rules, not measurements.
#pragma once

#include <string>
#include <vector>

#include "opgraph/op_graph.h"

namespace tilewright::engine {

struct TargetFinding {
  std::string rule;      // "sliding-window mask"
  bool certain = false;  // breaks, as far as is known; else may break, as it depends on who runs it
  std::string op, path;  // the first call concerned
  int calls = 0;
  std::string reason;
};

// The findings of a decode step traced at two positions of one bucket. Throws Error for a target without a description;
// a target that is no NPU has no rules.
std::vector<TargetFinding> target_findings(const std::string& target, const opgraph::OpGraph& step,
                                           const opgraph::OpGraph& next_step);

}  // namespace tilewright::engine

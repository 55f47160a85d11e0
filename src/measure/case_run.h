// One case of a benchmark: all arms on one pass, compared, timed in turns, looked into.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/arm_run.h"
#include "measure/bench.h"
#include "measure/limits_here.h"
#include "measure/work.h"

namespace tilewright::measure {

struct CaseRequest {
  Pass pass;
  std::vector<Arm> arms;
  std::shared_ptr<const engine::LoadedModel> loaded;
  const Work* work = nullptr;
  LimitsHere* limits = nullptr;  // null: none are read
  const BenchOptions* options = nullptr;
};

struct CaseOutcome {
  CaseResult result;
  // The device keeps a fault and runs nothing any more. `lost_by`: place of the arm that brought it about; none: eager,
  // when others were compared with it. The case should be run again on a new device without that arm.
  bool lost = false;
  std::optional<std::size_t> lost_by;
  std::string incomplete;  // empty: it is complete
  std::vector<std::string> warnings;
};

// Never throws Error: what an arm cannot do is in its result.
CaseOutcome run_case(const CaseRequest& request);

// What one timed iteration reads again and again: the bytes of one step.
double working_set(const Work& work, const Pass& pass);
// The limit of one timed iteration.
Limit limit_of_pass(const Work& work, const Pass& pass, const BenchLimits& limits);

}  // namespace tilewright::measure

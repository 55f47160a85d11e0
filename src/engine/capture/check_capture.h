// Can this model be captured? Its passes tried, what was done so that they can, and what a target would object to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/capture/check_pass.h"
#include "engine/capture/target_rules.h"
#include "engine/session.h"

namespace tilewright::engine {

struct Mitigation {
  std::string name;
  // refused: it would be needed and does not hold.
  enum class State { applied, not_needed, refused } state = State::applied;
  std::string reason;
};
const char* mitigation_state_name(Mitigation::State state);

struct CaptureCheck {
  std::vector<PassReport> passes;
  std::vector<Mitigation> mitigations;
  std::string target;                   // "910b2", or empty
  std::vector<TargetFinding> findings;  // known rules of the target, not measured
  bool capturable() const;              // every pass was captured and equals its eager run
};

struct CaptureCheckOptions {
  std::int64_t prompt = 8;   // tokens, 1 to 200
  std::int64_t context = 0;  // positions that decoding may reach; 0: the model's, at most 4,096
  int timed_replays = 20;    // of the decode step and the prompt
  std::string target = {};   // also says what else would break there
};

// Decode step behind the prompt, decode step at the context's last position (captured, not replayed), prompt pass. The
// session works on afterwards. Throws Error for an unknown target, if memory does not suffice or an eager pass fails.
CaptureCheck check_capture(Session& session, const CaptureCheckOptions& options);

}  // namespace tilewright::engine

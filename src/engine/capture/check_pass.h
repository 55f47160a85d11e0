// Can a pass be captured, and does its replay leave what it leaves itself, at another position too?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/capture/capture_failure.h"
#include "ops/core/context.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

using BindingsOfReplay =
    std::function<void(std::vector<runtime::Binding>& required, std::vector<runtime::Binding>& given)>;

// A pass that can be submitted at two positions one after the other, as decoding does.
struct CheckedPass {
  std::string name;  // "decode step"
  // Makes the state what it is before the first position; eager.
  std::function<void()> reset;
  // Submits the pass at position number `which` (0, 1): that is what the host knows. Returns what is compared.
  std::function<ops::Tensor(ops::Context&, int which)> run;
  // After the capture: what replays are promised, and what they are given.
  BindingsOfReplay bindings = {};
  // False: every run needs a reset before it (a prompt on an empty cache); both are then the same pass.
  bool moves_on = true;
  // Runs whose times are taken: 0, or at least 20.
  int timed_replays = 0;
};

struct PassReport {
  std::string name;
  std::optional<CaptureFailure> failure;
  int launches = 0, side_launches = 0;  // of all; on side streams
  int phases = 0;
  long barriers_removed = 0;
  std::uint64_t arena_bytes = 0, planned_bytes = 0;
  double capture_s = 0, instantiate_s = 0;
  std::vector<double> replay_s;  // each timed replay
  double median_s = 0;
  bool compared = false, equal = false;  // with the eager runs, bit for bit; where the device computes
};

// Runs the pass eagerly at both positions, captures it at the first in global mode, replays it at both and compares.
// What the runtime refuses is told as it says. Outcomes that differ mean that the host's values are baked into the
// graph (likely 507011), launches of other sizes at the second position that shapes grow (likely 507015). Never leaves
// the stream capturing. Throws Error if the eager pass itself fails.
PassReport check_pass(ops::Context& context, const CheckedPass& pass);

}  // namespace tilewright::engine

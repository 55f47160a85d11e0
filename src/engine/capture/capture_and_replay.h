// Captures work and times its replays, with the warm-ups that such a measurement needs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ops/core/context.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

struct ReplayPlan {
  int warmups = 3;         // eager runs on a side stream, which the context's stream waits for
  int replay_warmups = 2;  // replays that are not timed
  int replays = 20;        // timed ones, at least 20
  runtime::CaptureMode mode = runtime::CaptureMode::global;
  // Before each run and replay, apart from the time: makes the state as it was. Empty: nothing.
  std::function<void()> before_each = {};
};

struct ReplayTimes {
  double capture_s = 0, instantiate_s = 0;
  std::vector<double> seconds;  // of the timed replays, on the device's clock
  double median_s = 0, best_s = 0;
  int launches = 0;
  std::unique_ptr<runtime::ExecutableGraph> graph;
};

// `work` submits to the context that it is given: a copy of `context` on a side stream in warm-ups, else `context`.
// What it reads and writes must stay valid for all runs. Throws Error as the capture does.
ReplayTimes capture_and_replay(ops::Context& context, const std::function<void(ops::Context&)>& work,
                               const ReplayPlan& plan = {});

}  // namespace tilewright::engine

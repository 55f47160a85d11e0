// Where the device's time went: what a device writes down of each launch while it is asked to.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/launch.h"

namespace tilewright::runtime {

// One launch, or one node of a replay. Seconds on the device's clock. op, path and kernel live as long as the launch's.
struct TraceRecord {
  const char* op = "";
  const char* path = "";
  const char* kernel = "";
  int stream = 0;
  int replay = -1;  // number of the replay it belongs to within the trace, -1: launched on its own
  std::uint32_t grid = 1;
  Cost cost;
  double submitted = 0;  // when the host put it on the stream (replays: when the replay was)
  double started = 0;    // when its first block began
  double finished = 0;   // when its last block ended
};

}  // namespace tilewright::runtime

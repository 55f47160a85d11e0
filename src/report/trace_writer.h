// A trace that Chrome's tracing page and Perfetto open, laid out as Ascend's profilers do (trace_view.json): a bare
// array, `ts` in microseconds as decimal text, a host layer above a device layer, a flow from each submission to its
// launch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace tilewright::report {

// One launch, node of a replay, or stretch of host work. Seconds on the device's clock.
struct TraceEvent {
  std::string op;
  std::string path;             // "layers.3.self_attn"
  std::string kernel;           // may be empty
  std::string lane = "device";  // "device", "host": work of the host from `started` to `finished`
  int stream = 0;               // host: the thread
  double submitted = 0;         // when the host put it on the stream; of no meaning for "host"
  double started = 0, finished = 0;
  std::uint32_t grid = 1;
  double bytes = 0, flops = 0;
  int replay = -1;  // number of the replay it belongs to, -1: launched on its own
};

struct TraceArm {
  std::string name;  // "fused+graph": becomes a pair of processes, host and device
  std::vector<TraceEvent> events;
};

// Time 0 of the trace is each arm's own first time. Writes events as they come: memory does not grow with them.
void write_trace(std::ostream& out, const std::vector<TraceArm>& arms);
// As a whole file. Throws Error if it cannot be written.
void write_trace(const std::filesystem::path& path, const std::vector<TraceArm>& arms);

}  // namespace tilewright::report

#include "runtime/capture/capturing_device.h"

#include <algorithm>

#include "runtime/capture/capturing_stream.h"
#include "runtime/error_codes.h"

namespace tilewright::runtime {

MemoryRef CapturingDevice::allocate(Stream& stream, std::size_t bytes) {
  auto& capturing = static_cast<CapturingStream&>(stream);
  TW_CHECK(&capturing.device() == this);
  if (capturing.capturing()) {
    const std::lock_guard lock(captures_.mutex);
    if (capturing.capture_) {
      capturing.require_valid();
      MemoryRef memory = plan_memory(capturing, bytes);
      capturing.capture_->plan(memory);
      return memory;
    }
  }
  return do_allocate(capturing, bytes);
}

void CapturingDevice::require_no_capture(const char* what) {
  if (captures_.count.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(captures_.mutex);
  if (captures_.active.empty()) return;
  // The caller's own capture is the one it can do something about.
  const auto own = std::find_if(captures_.active.begin(), captures_.active.end(),
                                [](const auto& capture) { return capture->thread() == std::this_thread::get_id(); });
  const auto& blamed = own != captures_.active.end() ? *own : captures_.active.front();
  for (const auto& capture : captures_.active)
    capture->invalidate(code::kStreamCaptured, std::to_string(code::kStreamCaptured) + ", " + what);
  refuse(*blamed, 0, code::kStreamCaptured, what);
}

void CapturingDevice::synchronize() {
  require_no_capture("the device was synchronized while a stream captures");
  do_synchronize();
}

void CapturingDevice::trim() {
  require_no_capture("cached memory was given back, which waits for all work, while a stream captures");
  do_trim();
}

void CapturingDevice::start_trace() {
  require_no_capture("a trace was started, which waits for all work, while a stream captures");
  do_start_trace();
}

std::vector<TraceRecord> CapturingDevice::stop_trace() {
  require_no_capture("a trace was ended, which waits for all work, while a stream captures");
  return do_stop_trace();
}

std::unique_ptr<ExecutableGraph> CapturingDevice::instantiate(std::shared_ptr<Graph> graph) {
  if (!graph->claim_instantiation())
    fail_with_code(code::kModelUpdateFailed, {.what = "the graph was instantiated before: its memory has its addresses",
                                              .where = node_place(*graph, static_cast<int>(graph->nodes.size()) - 1),
                                              .expected = "",
                                              .found = "",
                                              .fix = ""});
  try {
    std::unique_ptr<PlannedExecutable> out = make_executable(graph, plan_graph(*graph));
    out->device_ = this;
    return out;
  } catch (...) {
    graph->give_up_instantiation();
    throw;
  }
}

}  // namespace tilewright::runtime

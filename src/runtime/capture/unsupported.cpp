// What a device answers that does not capture or trace.
#include "base/error.h"
#include "runtime/device.h"

namespace tilewright::runtime {
namespace {

[[noreturn]] void refuse(const Device& device, const char* what) {
  fail({.what = std::string("this device cannot ") + what,
        .where = device.name(),
        .expected = "",
        .found = "",
        .fix = "use --device host"});
}

}  // namespace

void Stream::begin_capture(CaptureMode) { refuse(device(), "capture graphs"); }
std::shared_ptr<Graph> Stream::end_capture() { refuse(device(), "capture graphs"); }
void Stream::replay(ExecutableGraph&, std::span<const Binding>) { refuse(device(), "replay graphs"); }
MemoryStats Stream::memory_stats() const { return device().memory_stats(); }
void Stream::reset_peak() { device().reset_peak(); }
std::unique_ptr<ExecutableGraph> Device::instantiate(std::shared_ptr<Graph>) { refuse(*this, "instantiate graphs"); }
void Device::start_trace() { refuse(*this, "trace"); }
std::vector<TraceRecord> Device::stop_trace() { return {}; }

}  // namespace tilewright::runtime

#include "backends/host/cts_kernels.h"

#include <algorithm>
#include <chrono>

#include "backends/host/host_kernel.h"

namespace tilewright::backends::host {
namespace {

void empty(const HostCall&) {}

// out[i] = in[i] + value for i32; one block a 1024 elements. Parameters: count, value.
void add_value(const HostCall& call) {
  struct P {
    std::int64_t count;
    std::int32_t value;
  };
  const auto& p = parameters_of<P>(call);
  const auto* in = static_cast<const std::int32_t*>(call.buffers[0]);
  auto* out = static_cast<std::int32_t*>(call.buffers[1]);
  for (std::int64_t i = std::int64_t{call.begin} * 1024;
       i < std::min<std::int64_t>(std::int64_t{call.end} * 1024, p.count); ++i)
    out[i] = in[i] + p.value;
}

// Busy for the given number of microseconds per block.
void busy(const HostCall& call) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(parameters_of<std::int64_t>(call));
  while (std::chrono::steady_clock::now() < until) {
  }
}

// out[block] += 1, atomically; the first counter counts blocks of all launches.
void count_blocks(const HostCall& call) {
  auto* counts = static_cast<std::int32_t*>(call.buffers[0]);
  for (std::uint32_t b = call.begin; b < call.end; ++b) std::atomic_ref<std::int32_t>(counts[b]).fetch_add(1);
}

// Two phases in one launch: every block adds its number to out[0]; then each block waits for the lower ones and checks.
void phases(const HostCall& call) {
  auto* out = static_cast<std::int32_t*>(call.buffers[0]);
  for (std::uint32_t b = call.begin; b < call.end; ++b) {
    std::atomic_ref<std::int32_t>(out[0]).fetch_add(static_cast<std::int32_t>(b));
    call.phase->fetch_add(1, std::memory_order_acq_rel);
    while (call.phase->load(std::memory_order_acquire) < b + 1) {
    }
  }
}

void fault(const HostCall& call) { call.fault(call, "planted fault", 7); }

}  // namespace

const runtime::Kernel* find_cts_kernel(std::string_view name) {
  static const runtime::Kernel kernels[] = {host_kernel("cts.empty", &empty),
                                            host_kernel("cts.add_value", &add_value),
                                            host_kernel("cts.busy", &busy),
                                            host_kernel("cts.fault", &fault),
                                            host_kernel("cts.count_blocks", &count_blocks),
                                            host_kernel("cts.phases", &phases)};
  for (const runtime::Kernel& kernel : kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace tilewright::backends::host

// Two phases inside one launch: blocks [0, first) do the first, the others wait for all of them. The launch is ordered:
// blocks are started in ascending order, so those that are waited for have been started.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "backends/host/host_kernel.h"

namespace tilewright::backends::host {

// prepare(begin, end) over blocks of the first phase, run(begin, end) over those of the second, counted from 0.
template <typename Prepare, typename Run>
void run_in_phases(const HostCall& call, std::uint32_t first, const Prepare& prepare, const Run& run) {
  if (call.begin < first) {
    const std::uint32_t end = std::min(call.end, first);
    prepare(call.begin, end);
    call.phase->fetch_add(end - call.begin, std::memory_order_release);
  }
  if (call.end <= first) return;
  for (int spins = 0; call.phase->load(std::memory_order_acquire) < first; ++spins)
    if (spins > 2000) std::this_thread::yield();
  run(std::max(call.begin, first) - first, call.end - first);
}

}  // namespace tilewright::backends::host

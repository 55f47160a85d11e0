// What the host backend calls a kernel: a function that runs some blocks of a launch.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/launch.h"

namespace tilewright::backends::host {

struct HostCall {
  void* const* buffers;    // addresses of the launch's buffer arguments, in order
  const void* parameters;  // the launch's parameter block, aligned to 16
  std::uint32_t begin;     // run blocks begin … end-1
  std::uint32_t end;
  std::uint32_t grid;
  int worker;  // 0 … threads-1; no two calls with one number run at the same time
  // Zero when the launch starts, shared by its blocks: for phases inside one launch. A block of an ordered launch may
  // spin on work of lower-numbered blocks (those have been started); others must not wait for each other.
  std::atomic<std::uint32_t>* phase;
  // Reports a fault of device work ("index 9 is outside 0 … 7"); it rises at the next synchronize. `text` must live as
  // long as the program; the first one of a device is kept.
  void (*fault)(const HostCall& call, const char* text, std::int64_t value);
  void* device;  // for fault
};

using HostFunction = void (*)(const HostCall& call);

// A kernel object for a host function: `static const runtime::Kernel kAdd = host_kernel("add", &add_blocks);`
inline runtime::Kernel host_kernel(const char* name, HostFunction function) {
  return {name, reinterpret_cast<const void*>(function)};
}

template <typename T>
const T& parameters_of(const HostCall& call) {
  return *static_cast<const T*>(call.parameters);
}

}  // namespace tilewright::backends::host

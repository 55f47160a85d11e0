// The conformance suite of devices. Every backend must pass every check; a test runs them for each device of the
// registry.
//
// The device offers small kernels by name (Device::find_kernel), i32 data unless said otherwise:
//   cts.empty         does nothing
//   cts.add_value     out[i] = in[i] + value, 1024 elements a block; parameters {i64 count, i32 value}; buffers in, out
//   cts.busy          keeps each block busy; parameter i64 microseconds
//   cts.count_blocks  out[block] += 1
//   cts.phases        out[0] += block number, in every block; a block ends only after all lower ones have begun
//   cts.fault         reports a fault of device work
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tilewright::runtime::cts {

struct Setup {
  std::string name;  // "host, 2 threads"
  std::function<std::shared_ptr<Device>(std::size_t memory_limit)> open;
};

struct Check {
  std::string name;
  // Empty if the device conforms, else what was seen. Devices that do not compute pass checks of values.
  std::function<std::string(const Setup&)> run;
};

const std::vector<Check>& checks();

}  // namespace tilewright::runtime::cts

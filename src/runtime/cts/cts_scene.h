// Where captures are tried out.
#pragma once

#include <memory>

#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {

// A device with two streams, an event, a buffer, and a capture that has one launch of "mul" at "layers.0".
struct Scene {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream, other;
  std::unique_ptr<Event> event;
  Tensor data;
  std::shared_ptr<void> pinned;

  explicit Scene(const Setup& setup) : device(setup.open(0)) {
    stream = device->create_stream();
    other = device->create_stream();
    event = device->create_event();
    data = ints(*stream, 1024);
    pinned = device->allocate_pinned(4096);
    stream->synchronize();
  }
  void begin(CaptureMode mode = CaptureMode::global) {
    stream->begin_capture(mode);
    add_value(*stream, data, data, 1, "mul", "layers.0");
  }
};

inline constexpr const char* kPlace = "layers.0, mul, launch 0";

}  // namespace tilewright::runtime::cts

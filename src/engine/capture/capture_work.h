// Captures what a function submits.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device.h"

namespace tilewright::engine {

// What `work` puts on the stream, recorded instead of run. If it throws, or the capture fails, the stream is an
// ordinary one again before the Error is passed on.
std::shared_ptr<runtime::Graph> capture_work(runtime::Stream& stream, runtime::CaptureMode mode,
                                             const std::function<void()>& work);

}  // namespace tilewright::engine

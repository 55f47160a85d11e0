#include "engine/capture/capture_work.h"

#include "base/error.h"

namespace tilewright::engine {

std::shared_ptr<runtime::Graph> capture_work(runtime::Stream& stream, runtime::CaptureMode mode,
                                             const std::function<void()>& work) {
  stream.begin_capture(mode);
  try {
    work();
  } catch (...) {
    try {
      stream.end_capture();
    } catch (const Error&) {  // says once more what `work` has said
    }
    throw;
  }
  return stream.end_capture();
}

}  // namespace tilewright::engine

// How strict a capture is, and where it stands.
#pragma once

namespace tilewright::runtime {

// Which calls are barred while a stream captures: in global mode unsafe calls (pageable copies) on every stream of the
// device from every thread, in thread-local mode those of the thread that began, in relaxed mode none but on the
// capturing streams. Synchronizing and querying what takes part is illegal in every mode.
enum class CaptureMode { global, thread_local_only, relaxed };
enum class CaptureStatus { none, active, invalidated };
const char* capture_mode_name(CaptureMode mode);

}  // namespace tilewright::runtime

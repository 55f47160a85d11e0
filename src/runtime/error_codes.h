// The one table of error codes that capture, runtime and assessment share: the numbers and names an Ascend user knows,
// with cause and fix in our words.
#pragma once

#include <span>

#include "base/error.h"

namespace tilewright::runtime {

struct ErrorCode {
  int code;
  const char* name;     // "ACL_ERROR_RT_STREAM_CAPTURED"
  const char* meaning;  // one line
  const char* cause;    // what usually brings it about
  const char* fix;      // what to do
};

// In ascending order of code.
std::span<const ErrorCode> error_codes();
// Null if unknown.
const ErrorCode* find_error_code(int code);

// Codes that this runtime raises itself.
namespace code {
inline constexpr int kInvalidParameter = 107000;          // pageable copy on a capturing stream, relaxed mode
inline constexpr int kCaptureDependency = 107024;         // wait for an event that was not recorded in the capture
inline constexpr int kStreamUnjoined = 107025;            // end with a side stream that has not returned
inline constexpr int kModelCaptured = 107026;             // replay within a capture
inline constexpr int kStreamCaptured = 107027;            // begin again, synchronize, query, destroy while capturing
inline constexpr int kEventCaptured = 107028;             // synchronize or query an event recorded in a capture
inline constexpr int kStreamNotCaptured = 107029;         // end without begin
inline constexpr int kCaptureModeNotSupport = 107030;     // unsafe call under global or thread-local mode
inline constexpr int kStreamCaptureImplicit = 107031;     // the default stream
inline constexpr int kStreamCaptureConflict = 107032;     // two captures meet
inline constexpr int kStreamCaptureUnmatched = 107036;    // end on a stream that did not begin
inline constexpr int kModelRunning = 107037;              // replay or destroy while another stream still replays it
inline constexpr int kStreamCaptureWrongThread = 107038;  // end on another thread than begin (not in relaxed mode)
inline constexpr int kModelUpdateFailed = 107040;         // a graph that was instantiated already
inline constexpr int kModelExecute = 507011;              // a buffer that the graph uses was freed; a baked host value
inline constexpr int kAicoreException = 507015;           // a binding of another shape or address at replay
inline constexpr int kCaptureInvalidated = 507903;        // end of a capture that an illegal action ended before
}  // namespace code

// Throws Error with code, name and, where `text` has none, the table's fix.
[[noreturn]] void fail_with_code(int code, ErrorText text);

}  // namespace tilewright::runtime

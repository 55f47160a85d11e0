// The parts of the table of error codes; find_error_code joins them.
#pragma once

#include <span>

#include "runtime/error_codes.h"

namespace tilewright::runtime {

// Each in ascending order of code; all codes of the first are below those of the second, and so on.
std::span<const ErrorCode> calling_error_codes();    // 1xxxxx: the call itself, captures
std::span<const ErrorCode> execution_error_codes();  // 2xxxxx: resources, 5xxxxx: the device's work

}  // namespace tilewright::runtime

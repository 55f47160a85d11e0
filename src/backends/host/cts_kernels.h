// Kernels that the conformance suite looks up by name ("cts.*").
#pragma once

#include <string_view>

#include "runtime/launch.h"

namespace tilewright::backends::host {

// Null if there is none of that name.
const runtime::Kernel* find_cts_kernel(std::string_view name);

}  // namespace tilewright::backends::host

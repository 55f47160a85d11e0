// Compiled tile programs on the host's threads.
#pragma once

#include <memory>
#include <string>

#include "ops/core/code_generator.h"

namespace tilewright::backends::host {

// Compiles for active_isa(), or takes code from the caches of tile/binary.
std::shared_ptr<ops::CodeGenerator> make_host_generator();

// Into how many parts a launch of `blocks` program blocks is cut: few enough that handing them out costs little beside
// their work, and one if all of it is soon done.
std::uint32_t launch_grid(std::int64_t blocks, const runtime::Cost& cost, int threads);

}  // namespace tilewright::backends::host

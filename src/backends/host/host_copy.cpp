#include "backends/host/host_copy.h"

#include <algorithm>
#include <cstring>

namespace tilewright::backends::host {

void copy_blocks(const HostCall& call) {
  const auto bytes = parameters_of<std::size_t>(call);
  for (std::uint32_t b = call.begin; b < call.end; ++b) {
    const std::size_t at = b * kCopyBlock;
    std::memcpy(static_cast<char*>(call.buffers[0]) + at, static_cast<const char*>(call.buffers[1]) + at,
                std::min(kCopyBlock, bytes - at));
  }
}

}  // namespace tilewright::backends::host

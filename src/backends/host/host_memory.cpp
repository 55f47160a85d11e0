#include "backends/host/host_memory.h"

#include <algorithm>

#include "base/error.h"

namespace tilewright::backends::host {

std::byte* HostMemory::address(std::uint64_t offset, std::uint64_t count) const {
  if (!block.address && planned && bytes() != 0)
    fail({.what = "a buffer that was allocated within a capture has no address yet",
          .where = "a buffer of " + std::to_string(bytes()) + " bytes",
          .expected = "use after its graph is instantiated",
          .found = "use before",
          .fix = "instantiate the graph first; what must hold values before is allocated before the capture"});
  TW_CHECK(offset + count <= std::max(bytes(), block.size));
  return static_cast<std::byte*>(block.address) + offset;
}

}  // namespace tilewright::backends::host

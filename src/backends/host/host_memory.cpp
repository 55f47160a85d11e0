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
  const std::uint64_t size = std::max(bytes(), block.size);
  TW_CHECK(count <= size && offset <= size - count);
  return static_cast<std::byte*>(block.address) + offset;
}

void HostMemory::note_use(StreamCore& stream) {
  if (owner == &stream) return;
  other_until.store(stream.submitted() + 1, std::memory_order_release);
  if (other_stream.load(std::memory_order_acquire) == &stream) return;
  if (other_stream.exchange(&stream, std::memory_order_acq_rel)) several_others.store(true, std::memory_order_release);
}

bool HostMemory::in_use_elsewhere() const {
  if (!free_after.empty())
    return std::any_of(free_after.begin(), free_after.end(),
                       [](const StreamPoint& point) { return !point.stream->finished(point.number); });
  const StreamCore* other = other_stream.load(std::memory_order_acquire);
  return other && !other->finished(other_until.load(std::memory_order_acquire));
}

}  // namespace tilewright::backends::host

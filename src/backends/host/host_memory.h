// A block of the host device's memory.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "backends/host/executor.h"
#include "runtime/caching_allocator.h"
#include "runtime/memory.h"

namespace tilewright::backends::host {

struct HostMemory : runtime::Memory {
  HostMemory(runtime::Device& device, std::size_t bytes, runtime::CachingAllocator::Block block_in,
             StreamCore* owner_in)
      : Memory(device, bytes), block(block_in), owner(owner_in) {}
  runtime::CachingAllocator::Block block;  // planned memory has no address before its graph is instantiated
  StreamCore* owner;                       // for whose work it was allocated; null: imported
  bool planned = false;                    // allocated while capturing: its place lies in `arena`
  runtime::MemoryRef arena;
  std::function<void()> deleter;  // imported memory
  // The last use by another stream than the owner's, and whether there were more such streams.
  std::atomic<StreamCore*> other_stream{nullptr};
  std::atomic<std::uint64_t> other_until{0};
  std::atomic<bool> several_others{false};
  // Of several others: what all streams had submitted when the last reference went.
  std::vector<StreamPoint> free_after;

  void note_use(StreamCore& stream);  // by what is submitted next
  bool in_use_elsewhere() const;
  // Throws Error if the block has no address yet; aborts if the bytes lie outside it.
  std::byte* address(std::uint64_t offset, std::uint64_t bytes) const;
};

}  // namespace tilewright::backends::host

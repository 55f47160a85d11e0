// A block of the host device's memory.
#pragma once

#include <atomic>
#include <functional>

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
  // The last use by another stream than the owner's.
  std::atomic<StreamCore*> other_stream{nullptr};
  std::atomic<std::uint64_t> other_until{0};

  bool in_use_elsewhere() const {
    const StreamCore* other = other_stream.load(std::memory_order_acquire);
    return other && !other->finished(other_until.load(std::memory_order_acquire));
  }
  // Throws Error if the block has no address yet; aborts if the bytes lie outside it.
  std::byte* address(std::uint64_t offset, std::uint64_t bytes) const;
};

}  // namespace tilewright::backends::host

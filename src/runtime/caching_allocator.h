// The block cache of a device: stream-ordered, never waits, gives nothing back until trimmed. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/memory.h"

namespace tilewright::runtime {

class CachingAllocator {
 public:
  // Where memory comes from. `take` returns zero-filled or undefined memory aligned to at least 64 bytes, or null if
  // there is none; sizes are those of `granularity`.
  struct Source {
    std::function<void*(std::size_t)> take;
    std::function<void(void*, std::size_t)> give_back;
  };
  struct Block {
    void* address = nullptr;
    std::size_t size = 0;  // of the size class; at least what was asked for
  };

  explicit CachingAllocator(Source source) : source_(std::move(source)) {}
  ~CachingAllocator();

  // A block for work of `stream` (any number the device gives its streams). Null address if the source has no more
  // memory even after cached blocks of every stream were looked at.
  Block allocate(int stream, std::size_t bytes);
  // Hands the block back; the next allocate of the same stream may return it at once.
  void free(int stream, Block block);
  // Gives every cached large block back to the source. The caller has made sure that no work is pending.
  void trim();
  MemoryStats stats() const;
  void reset_peak();
  // The same of one stream: its live blocks, and what was taken from the source for it.
  MemoryStats stats(int stream) const;
  void reset_peak(int stream);

  // The size that is really set aside for a request: steps of an eighth of the power of two below, at least 512 bytes;
  // above 32 MiB whole 2 MiB pages.
  static std::size_t size_class(std::size_t bytes);

 private:
  struct Cache {
    std::vector<std::vector<Block>> small;  // by class index, up to kLarge
    std::multimap<std::size_t, Block> large;
    Block slab;  // the rest of the slab that small blocks are cut from
    MemoryStats stats;
  };
  struct Taken {
    std::size_t size = 0;
    int stream = 0;
  };
  Cache& cache(int stream);
  Block take_cached(Cache& cache, std::size_t size);
  Block take_fresh(int stream, std::size_t size);

  Source source_;
  mutable std::mutex mutex_;
  std::vector<Cache> caches_;
  std::unordered_map<void*, Taken> taken_;  // everything the source gave: slabs and large blocks
  MemoryStats stats_;
};

}  // namespace tilewright::runtime

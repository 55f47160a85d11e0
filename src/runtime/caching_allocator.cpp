#include "runtime/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/error.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kSmallest = 512;
constexpr std::size_t kOwn = std::size_t{1} << 20;     // from here on a block is not cut from a slab
constexpr std::size_t kLarge = std::size_t{32} << 20;  // from here on whole pages and best fit
constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kMost = SIZE_MAX / 4;  // what no machine has, and sums of which do not overflow
constexpr std::size_t kSlab = std::size_t{4} << 20;

std::size_t round_up(std::size_t n, std::size_t step) { return (n + step - 1) / step * step; }

// Position of a size class in the list: eight per power of two.
std::size_t class_index(std::size_t size) {
  const int power = std::bit_width(size - 1);  // smallest power of two >= size
  const std::size_t step = std::max<std::size_t>(kSmallest, (std::size_t{1} << power) / 16);
  return static_cast<std::size_t>(power) * 16 + size / step;
}

}  // namespace

std::size_t CachingAllocator::size_class(std::size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes > kLarge) return round_up(bytes, kPage);
  return round_up(bytes, std::max<std::size_t>(kSmallest, std::bit_ceil(bytes) / 16));
}

CachingAllocator::~CachingAllocator() {
  for (const auto& [address, taken] : taken_) source_.give_back(address, taken.size);
}

CachingAllocator::Cache& CachingAllocator::cache(int stream) {
  if (static_cast<std::size_t>(stream) >= caches_.size()) caches_.resize(static_cast<std::size_t>(stream) + 1);
  return caches_[static_cast<std::size_t>(stream)];
}

CachingAllocator::Block CachingAllocator::take_cached(Cache& cache, std::size_t size) {
  if (size > kLarge) {  // the smallest that fits, if it wastes at most a quarter
    const auto it = cache.large.lower_bound(size);
    if (it == cache.large.end() || it->first > size + size / 4) return {};
    const Block block = it->second;
    cache.large.erase(it);
    return block;
  }
  const std::size_t first = class_index(size);
  const std::size_t last = std::min(cache.small.size(), first + 16 + 1);  // up to twice the size
  for (std::size_t i = first; i < last; ++i) {
    if (cache.small[i].empty()) continue;
    const Block block = cache.small[i].back();
    cache.small[i].pop_back();
    return block;
  }
  return {};
}

CachingAllocator::Block CachingAllocator::take_fresh(int stream, std::size_t size) {
  Cache& own = cache(stream);
  const auto take = [&](std::size_t bytes) -> Block {
    void* address = source_.take(bytes);
    if (!address) return {};
    taken_[address] = {bytes, stream};
    stats_.reserved += bytes;
    own.stats.reserved += bytes;
    return {address, bytes};
  };
  if (size >= kOwn) return take(size >= kPage ? round_up(size, kPage) : size);
  if (own.slab.size < size) {
    const Block fresh = take(kSlab);
    if (!fresh.address) return {};
    own.slab = fresh;  // the old rest, smaller than this request, is given up until trim
  }
  const Block block{own.slab.address, size};
  own.slab.address = static_cast<std::byte*>(own.slab.address) + size;
  own.slab.size -= size;
  return block;
}

CachingAllocator::Block CachingAllocator::allocate(int stream, std::size_t bytes) {
  if (bytes > kMost) return {};
  const std::lock_guard lock(mutex_);
  const std::size_t size = size_class(bytes);
  Block block = take_cached(cache(stream), size);
  if (!block.address) block = take_fresh(stream, size);
  if (!block.address) return {};
  for (MemoryStats* stats : {&stats_, &cache(stream).stats}) {
    stats->allocated += block.size;
    stats->peak = std::max(stats->peak, stats->allocated);
  }
  return block;
}

void CachingAllocator::free(int stream, Block block) {
  const std::lock_guard lock(mutex_);
  Cache& c = cache(stream);
  stats_.allocated -= block.size;
  c.stats.allocated -= block.size;
  if (block.size > kLarge) {
    c.large.emplace(block.size, block);
    return;
  }
  const std::size_t index = class_index(block.size);
  if (index >= c.small.size()) c.small.resize(index + 1);
  c.small[index].push_back(block);
}

void CachingAllocator::trim() {
  const std::lock_guard lock(mutex_);
  const auto give_back = [&](const Block& block) {
    const auto it = taken_.find(block.address);
    if (it == taken_.end() || it->second.size != block.size) return false;  // cut from a slab
    source_.give_back(block.address, block.size);
    stats_.reserved -= block.size;
    cache(it->second.stream).stats.reserved -= block.size;
    taken_.erase(it);
    return true;
  };
  for (Cache& c : caches_) {
    for (const auto& [size, block] : c.large) give_back(block);
    c.large.clear();
    for (auto& list : c.small) std::erase_if(list, give_back);
  }
}

MemoryStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.allocated;
}

MemoryStats CachingAllocator::stats(int stream) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(stream) < caches_.size() ? caches_[static_cast<std::size_t>(stream)].stats
                                                           : MemoryStats{};
}

void CachingAllocator::reset_peak(int stream) {
  const std::lock_guard lock(mutex_);
  MemoryStats& stats = cache(stream).stats;
  stats.peak = stats.allocated;
}

}  // namespace tilewright::runtime

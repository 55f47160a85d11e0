// Device memory as the rest of the program sees it: an opaque, counted block. Host code reaches its bytes through
// Stream::copy_to_host and copy_from_host only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime {

class Device;
class Stream;

// One block of memory of one device. Backends derive from it. Destroyed through Device::release when the last reference
// goes; release is stream-ordered: the block may be handed out again at once to work of the same stream, which runs
// later.
class Memory {
 public:
  Memory(Device& device, std::size_t bytes) : device_(&device), bytes_(bytes) {}
  virtual ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Device& device() const { return *device_; }
  std::size_t bytes() const { return bytes_; }  // as asked for

  // Somebody who uses the block without owning it. When the last reference goes, `freed` is called (once, on the thread
  // that dropped it; it must not touch watchers), and the block stays until the last watcher is gone: nobody gets its
  // address meanwhile.
  class Watcher {
   public:
    virtual void freed(const Memory& memory) noexcept = 0;

   protected:
    ~Watcher() = default;
  };
  void add_watcher(Watcher& watcher);     // the caller holds a reference
  void remove_watcher(Watcher& watcher);  // may release the block

 protected:
  void resize(std::size_t bytes) { bytes_ = bytes; }

 private:
  friend class MemoryRef;
  struct Watchers;
  void unreferenced();

  Device* device_;
  std::size_t bytes_;
  std::atomic<Watchers*> watchers_{nullptr};
  std::atomic<std::int32_t> references_{0};
};

// Shared ownership of a Memory. Copying is one atomic increment.
class MemoryRef {
 public:
  MemoryRef() = default;
  explicit MemoryRef(Memory* memory) : memory_(memory) { retain(); }
  MemoryRef(const MemoryRef& other) : memory_(other.memory_) { retain(); }
  MemoryRef(MemoryRef&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  MemoryRef& operator=(MemoryRef other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~MemoryRef() { drop(); }
  Memory* get() const { return memory_; }
  Memory* operator->() const { return memory_; }
  explicit operator bool() const { return memory_ != nullptr; }
  // References there are, this one counted.
  int uses() const { return memory_ ? memory_->references_.load(std::memory_order_acquire) : 0; }

 private:
  void retain() {
    if (memory_) memory_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void drop();
  Memory* memory_ = nullptr;
};

struct MemoryStats {
  std::size_t allocated = 0;  // bytes in live blocks (imported memory not counted)
  std::size_t peak = 0;       // largest `allocated` since the last reset_peak
  std::size_t reserved = 0;   // bytes taken from the system and not given back
  std::size_t imported = 0;   // bytes of foreign memory
};

}  // namespace tilewright::runtime

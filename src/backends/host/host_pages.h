// Memory of the system for the host device: aligned, counted, and readable only when asked to be (host:opaque).
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

namespace tilewright::backends::host {

class HostPages {
 public:
  explicit HostPages(std::size_t limit) : limit_(limit) {}  // bytes; 0: what the machine has

  void* take(std::size_t bytes);  // aligned to 2 MiB; null if there is no more
  void give_back(void* address, std::size_t bytes);
  void protect(bool readable);    // all that was taken, and what will be
  std::size_t available() const;  // an estimate

 private:
  std::size_t limit_;
  std::atomic<std::size_t> taken_{0};
  std::mutex mutex_;
  std::map<void*, std::size_t> regions_;
  bool readable_ = true;
};

}  // namespace tilewright::backends::host

#include "backends/host/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tilewright::backends::host {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

// A line of a file in /proc that counts kilobytes.
std::size_t bytes_of(const char* file, const std::string& wanted, std::size_t otherwise) {
  std::ifstream in(file);
  for (std::string key; in >> key;) {
    std::size_t kib = 0;
    if (key == wanted && in >> kib) return kib * 1024;
    in.ignore(256, '\n');
  }
  return otherwise;
}

// The system gives pages when they are first written, so that what was taken and not yet written still counts as
// available there; promised twice, it would end the program.
std::size_t available_memory(std::size_t taken) {
  const std::size_t available = bytes_of("/proc/meminfo", "MemAvailable:", SIZE_MAX);
  const std::size_t written = bytes_of("/proc/self/status", "RssAnon:", taken);
  return available - std::min(available, taken - std::min(taken, written));
}

}  // namespace

std::size_t HostPages::available() const {
  return limit_ ? limit_ - std::min(limit_, taken_.load()) : available_memory(taken_.load());
}

void* HostPages::take(std::size_t bytes) {
  if (limit_ && taken_.load() + bytes > limit_) return nullptr;
  if (bytes >= std::size_t{64} << 20 && bytes > available_memory(taken_.load()))
    return nullptr;  // the kernel would kill us later instead
  const std::size_t room = bytes + kPage;
  void* data = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // Aligned to 2 MiB, so that large blocks get large pages; the ends are given back.
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t aligned = (begin + kPage - 1) / kPage * kPage;
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t kept = (bytes + page - 1) / page * page;
  if (aligned > begin) ::munmap(data, aligned - begin);
  if (begin + room > aligned + kept) ::munmap(reinterpret_cast<void*>(aligned + kept), begin + room - aligned - kept);
  void* out = reinterpret_cast<void*>(aligned);
  if (bytes >= kPage) ::madvise(out, bytes, MADV_HUGEPAGE);
  taken_ += bytes;
  const std::lock_guard lock(mutex_);
  regions_[out] = kept;
  if (!readable_) ::mprotect(out, kept, PROT_NONE);
  return out;
}

void HostPages::give_back(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto it = regions_.find(address);
  ::munmap(address, it->second);
  regions_.erase(it);
  taken_ -= bytes;
}

void HostPages::protect(bool readable) {
  const std::lock_guard lock(mutex_);
  readable_ = readable;
  for (const auto& [address, bytes] : regions_)
    ::mprotect(address, bytes, readable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace tilewright::backends::host

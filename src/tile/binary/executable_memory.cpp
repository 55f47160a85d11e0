#include "tile/binary/executable_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

namespace tilewright::tile {
namespace {

[[noreturn]] void refused(const char* what, int error) {
  fail({.what = what,
        .where = "memory for compiled kernels",
        .expected = "",
        .found = std::strerror(error),
        .fix = "run without --fuse, or let the process map executable memory"});
}

}  // namespace

ExecutableCode::ExecutableCode(const Blob& blob) {
  TW_CHECK(blob.run < blob.bytes.size() && blob.blocks < blob.bytes.size());
  size_ = (blob.bytes.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
  void* address = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) refused("no memory for code", errno);
  std::memcpy(address, blob.bytes.data(), blob.bytes.size());
  if (mprotect(address, size_, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    munmap(address, size_);
    refused("the system refuses executable memory", error);
  }
  address_ = address;
  char* begin = static_cast<char*>(address);
  __builtin___clear_cache(begin, begin + size_);
  run_ = reinterpret_cast<RunFunction>(begin + blob.run);
  blocks_ = reinterpret_cast<BlocksFunction>(begin + blob.blocks);
}

ExecutableCode::~ExecutableCode() {
  if (address_) munmap(address_, size_);
}

ExecutableCode::ExecutableCode(ExecutableCode&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      run_(std::exchange(other.run_, nullptr)),
      blocks_(std::exchange(other.blocks_, nullptr)) {}

ExecutableCode& ExecutableCode::operator=(ExecutableCode&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  std::swap(run_, other.run_);
  std::swap(blocks_, other.blocks_);
  return *this;
}

}  // namespace tilewright::tile

// Code in memory that may be run and no longer be written.
#pragma once

#include <cstddef>
#include <span>

#include "tile/binary/blob.h"
#include "tile/binary/kernel_abi.h"

namespace tilewright::tile {

// A mapped blob. Moved, never copied; the functions live as long as the object.
class ExecutableCode {
 public:
  // Throws Error if memory is missing or the system forbids such pages. Entries must lie inside the blob.
  explicit ExecutableCode(const Blob& blob);
  ~ExecutableCode();
  ExecutableCode(ExecutableCode&& other) noexcept;
  ExecutableCode& operator=(ExecutableCode&& other) noexcept;

  RunFunction run() const { return run_; }
  BlocksFunction blocks() const { return blocks_; }
  std::size_t bytes() const { return size_; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
  RunFunction run_ = nullptr;
  BlocksFunction blocks_ = nullptr;
};

}  // namespace tilewright::tile

// Machine code of one tile program as a single block of bytes that runs wherever it is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::tile {

struct Blob {
  std::vector<std::byte> bytes;
  std::uint64_t blocks = 0;  // offset of tw_blocks (kernel_abi.h)
  std::uint64_t run = 0;     // offset of tw_run
  bool operator==(const Blob&) const = default;
};

// The borders that a blob must be mapped at: aarch64 code addresses pages.
inline constexpr std::size_t kBlobAlignment = 4096;
inline constexpr std::size_t kLargestBlob = std::size_t{16} << 20;

// Lays out the code and constants of a relocatable ELF object (x86-64 or aarch64, little-endian) and applies its
// relocations, all of which must be relative to the place. Throws Error for anything else: absolute relocations,
// symbols from outside (no libm, no memcpy), writable data, an object that is damaged.
Blob blob_from_object(std::span<const std::byte> object);

}  // namespace tilewright::tile

// Copies as kernels: buffers to, from; parameter the bytes (std::size_t); a block copies kCopyBlock of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/host/host_kernel.h"

namespace tilewright::backends::host {

inline constexpr std::size_t kCopyBlock = std::size_t{1} << 20;
inline std::uint32_t copy_grid(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + kCopyBlock - 1) / kCopyBlock);
}
void copy_blocks(const HostCall& call);

}  // namespace tilewright::backends::host

// Relocations whose value depends only on distances inside one block of code that starts at a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tilewright::tile {

struct Patch {
  std::uint64_t place = 0;  // offset in the block of what is patched
  std::int64_t target = 0;  // offset of the symbol
  std::int64_t addend = 0;
  std::uint32_t type = 0;  // R_X86_64_…, R_AARCH64_…
};

// Writes the patch into the block. What is wrong (an absolute relocation, a distance that does not fit, a place outside
// the block), or empty. The psABI documents of both machines define the formulas.
std::string patch_x86_64(std::span<std::byte> block, const Patch& patch);
std::string patch_aarch64(std::span<std::byte> block, const Patch& patch);

}  // namespace tilewright::tile

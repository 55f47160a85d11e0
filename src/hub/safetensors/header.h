// The header of a safetensors file: 8 bytes of length N (u64, little endian), N bytes of JSON, then the tensors' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, the format's own limit

struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;            // as the file spells it, always one that the format knows
  std::vector<std::uint64_t> shape;  // any rank; the product times the element size equals end - begin
  std::uint64_t begin = 0, end = 0;  // in bytes from the start of the file, inside the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Bits of one element of a dtype of the format ("F32" → 32, "F4" → 4), 0 if the format has no such dtype.
unsigned safetensors_dtype_bits(std::string_view dtype_name);

// Reads and checks a whole file held in memory; `where` names it in errors. The checks are those of the reference
// reader in its order, and the message carries its name for the failure (HeaderTooSmall, HeaderTooLarge,
// InvalidHeaderLength, InvalidHeader, InvalidHeaderDeserialization, InvalidOffset, ValidationOverflow, MisalignedSlice,
// TensorInvalidInfo, MetadataIncompleteBuffer). A name or a field that occurs twice is refused. Throws Error.
SafetensorsHeader read_safetensors_header(std::span<const std::byte> file, const std::string& where);

}  // namespace tilewright::hub

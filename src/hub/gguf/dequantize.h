// Tensor types of GGUF files and their values as float. Formulas: the block layouts of ggml, checked against the `gguf`
// package's numbers bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tilewright::hub {

struct GgufTypeInfo {
  std::uint32_t type;
  const char* name;            // "Q4_1"
  std::size_t block_elements;  // elements of one block, 0 if we cannot read the type
  std::size_t block_bytes;
  void (*dequantize)(const std::byte* blocks, std::size_t count,
                     float* out);  // count blocks; null if we cannot read it
};

// F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K can be read; others have a name only, or none (null).
const GgufTypeInfo* gguf_type(std::uint32_t type);
std::string gguf_type_name(std::uint32_t type);  // "Q4_1", or "type 77"
std::string readable_gguf_types();               // "F32, F16, …"

}  // namespace tilewright::hub

// Any bytes as a safetensors file: an Error, or entries whose bytes can all be read.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "hub/safetensors/header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> exact(data, data + size);  // its end is where the sanitizer looks
  try {
    const auto header = tilewright::hub::read_safetensors_header(std::as_bytes(std::span(exact)), "fuzz");
    std::uint64_t previous = 0;
    volatile std::uint8_t seen = 0;
    for (const auto& entry : header.entries) {
      if (entry.begin < previous || entry.end < entry.begin) std::abort();
      previous = entry.end;
      if (entry.begin < entry.end) seen = seen ^ exact.data()[entry.begin] ^ exact.data()[entry.end - 1];
    }
  } catch (const tilewright::Error&) {
  }
  return 0;
}

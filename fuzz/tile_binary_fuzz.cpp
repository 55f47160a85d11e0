// Files of compiled kernels and object files, neither of which is trusted: a refusal, or code with entries inside.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "tile/binary/blob.h"
#include "tile/binary/kernel_cache.h"

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto blob = tile::read_kernel_file(bytes, "key"))
    TW_CHECK(blob->run < blob->bytes.size() && blob->blocks < blob->bytes.size());
  try {
    const tile::Blob blob = tile::blob_from_object(bytes);
    TW_CHECK(blob.run < blob.bytes.size() && blob.blocks < blob.bytes.size());
  } catch (const Error&) {
  }
  return 0;
}

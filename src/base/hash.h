// A fast hash of bytes to 128 bits: for names of cached files and to find damage. Not for secrets: who may choose the
// bytes can make two that agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

using Hash128 = std::array<std::uint64_t, 2>;

Hash128 hash_bytes(std::span<const std::byte> bytes);
Hash128 hash_text(std::string_view text);
std::string hash_name(const Hash128& hash);  // 32 hexadecimal digits

}  // namespace tilewright

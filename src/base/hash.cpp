#include "base/hash.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace tilewright {
namespace {

constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15ull, kSecond = 0xd6e8feb86659fd93ull;

std::uint64_t finish(std::uint64_t x) {  // every bit of x reaches every bit of the result
  x = (x ^ (x >> 32)) * kSecond;
  x = (x ^ (x >> 29)) * kFirst;
  return x ^ (x >> 32);
}

}  // namespace

Hash128 hash_bytes(std::span<const std::byte> bytes) {
  std::uint64_t a = bytes.size() * kFirst, b = ~bytes.size() * kSecond;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    a = std::rotl((a ^ word) * kFirst, 31) + b;
    b = std::rotl((b + word) * kSecond, 27) ^ a;
  }
  return {finish(a), finish(b ^ finish(a))};
}

Hash128 hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text.data(), text.size()))); }

std::string hash_name(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash[0], hash[1]); }

}  // namespace tilewright

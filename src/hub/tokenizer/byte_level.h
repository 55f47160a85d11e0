// The byte-level alphabet: one printable character for each byte, as GPT-2 introduced it. Bytes 33–126, 161–172 and
// 174–255 stand for themselves, the other 68 for U+0100 and up, in order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::hub {

struct ByteLevelAlphabet {
  std::array<char32_t, 256> character;   // of a byte
  std::array<std::int16_t, 0x144> byte;  // of a character below U+0144, or −1
  std::array<std::string, 256> utf8;     // the character of a byte, encoded
};
const ByteLevelAlphabet& byte_level_alphabet();

// The bytes that a token stands for; a token with a character outside the alphabet stands for its own bytes.
std::string byte_level_bytes(std::string_view token);

}  // namespace tilewright::hub

#include "hub/tokenizer/byte_level.h"

#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {

const ByteLevelAlphabet& byte_level_alphabet() {
  static const ByteLevelAlphabet alphabet = [] {
    ByteLevelAlphabet out;
    out.byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const char32_t c = itself ? static_cast<char32_t>(b) : next++;
      out.character[b] = c;
      out.byte[c] = static_cast<std::int16_t>(b);
      append_code_point(out.utf8[b], c);
    }
    return out;
  }();
  return alphabet;
}

std::string byte_level_bytes(std::string_view token) {
  const ByteLevelAlphabet& alphabet = byte_level_alphabet();
  std::string out;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint c = code_point_at(token, at);
    if (c.value >= alphabet.byte.size() || alphabet.byte[c.value] < 0) return std::string(token);
    out += static_cast<char>(alphabet.byte[c.value]);
    at += c.bytes;
  }
  return out;
}

}  // namespace tilewright::hub

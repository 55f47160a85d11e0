// UTF-8 as the tokenizer needs it: reading arbitrary bytes as text, and the character classes of the reference
// implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::hub {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

enum class Utf8Kind { character, invalid, unfinished };
struct Utf8Step {
  Utf8Kind kind;
  int bytes;  // of the character; of the longest ill-formed part that stands for one U+FFFD; or all that is left
};
// Looks at the first character of a non-empty `rest`. `unfinished` means that more bytes could complete it.
Utf8Step utf8_step(std::string_view rest);

bool is_valid_utf8(std::string_view text);

// The character at `at` of a valid text.
struct CodePoint {
  char32_t value;
  int bytes;
};
inline CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data()) + at;
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xE0) return {char32_t((p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu)), 2};
  if (p[0] < 0xF0) return {char32_t((p[0] & 0xFu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)), 3};
  return {char32_t((p[0] & 7u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu)), 4};
}
// The last character of a valid, non-empty text.
CodePoint last_code_point(std::string_view text);
void append_code_point(std::string& out, char32_t value);

// Bytes that arrive in parts, read as text: every longest ill-formed part becomes one U+FFFD; the beginning of a
// character is held back until it is whole.
class LossyUtf8 {
 public:
  void push(std::string_view bytes, std::string& out);
  void finish(std::string& out);

 private:
  std::string held_;
};

bool is_white_space(char32_t c);  // the property White_Space
bool is_word(char32_t c);         // Alphabetic, marks, decimal digits, connector punctuation, joiners
bool is_number(char32_t c);       // categories Nd, Nl, No
bool is_punctuation(char32_t c);  // categories P*, and the symbols of ASCII
bool is_mark(char32_t c);         // categories M*
void append_lower_case(std::string& out, char32_t c);  // character by character, as Rust's char::to_lowercase

}  // namespace tilewright::hub

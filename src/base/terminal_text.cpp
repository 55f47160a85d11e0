#include "base/terminal_text.h"

#include <algorithm>

namespace tilewright {
namespace {

struct CodeRange {
  char32_t first, last;
};
// Blocks of Unicode 15 whose characters are wide in terminals, and those that take no cell.
constexpr CodeRange kWide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2e80, 0x303e},
                               {0x3041, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                               {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18d08},
                               {0x1aff0, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f1ff},
                               {0x1f200, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1faff},
                               {0x20000, 0x3fffd}};
constexpr CodeRange kNoCell[] = {{0x300, 0x36f},    {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                 {0x64b, 0x65f},    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
                                 {0x20d0, 0x20f0},  {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
                                 {0xe0100, 0xe01ef}};

template <std::size_t N>
bool within(char32_t c, const CodeRange (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const CodeRange& r) { return c >= r.first && c <= r.last; });
}

// The cells of the character that begins at `at`, which is moved behind it. Stray continuation bytes take none.
int step_over(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  char32_t code = first < 0x80 ? first : first < 0xe0 ? first & 0x1f : first < 0xf0 ? first & 0x0f : first & 0x07;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return within(code, kNoCell) ? 0 : within(code, kWide) ? 2 : 1;
}

// The next code point of UTF-8 text, U+FFFD for a byte that is part of none; advances `at`.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const int length = first < 0x80                    ? 1
                     : first >= 0xc2 && first < 0xe0 ? 2
                     : (first & 0xf0) == 0xe0        ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
  char32_t code = length == 1 ? first : length == 2 ? first & 0x1f : length == 3 ? first & 0x0f : first & 0x07;
  bool whole = length > 0;
  for (int i = 1; i < length && whole; ++i) {
    whole = (byte(at + static_cast<std::size_t>(i)) & 0xc0) == 0x80;
    code = code << 6 | (byte(at + static_cast<std::size_t>(i)) & 0x3f);
  }
  const bool shortest = length < 3 || (length == 3 ? code >= 0x800 : code >= 0x10000);
  if (!whole || !shortest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    ++at;
    return 0xfffd;
  }
  at += static_cast<std::size_t>(length);
  return code;
}

bool steers(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

int display_width(const std::string& text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) width += step_over(text, at);
  return width;
}

std::string cut_to_width(const std::string& text, int width) {
  std::size_t at = 0;
  for (std::size_t next = 0; next < text.size(); at = next)
    if ((width -= step_over(text, next)) < 0) return text.substr(0, at);
  return text;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(text, at);
    if (steers(c))
      out += ' ';
    else if (c == 0xfffd)
      out += "\xef\xbf\xbd";
    else
      out += text.substr(begin, at - begin);
  }
  return out;
}

std::string shortened_in_the_middle(std::string_view text, int width) {
  const std::string line = one_line(text);
  if (display_width(line) <= width) return line;
  if (width <= 0) return "";
  const int front = (width - 1) / 2;
  // The longest end that fits, whole characters.
  std::size_t at = 0;
  while (display_width(line.substr(at)) > width - 1 - front) step_over(line, at);
  return cut_to_width(line, front) + "…" + line.substr(at);
}

}  // namespace tilewright

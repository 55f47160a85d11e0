#include "hub/chat/text.h"

#include <utf8proc.h>

#include <algorithm>

#include "hub/chat/special_casing.h"

namespace tilewright::hub::jinja {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

enum class Form { upper, lower, title };

void append_special(std::u32string& out, char32_t c, Form form) {
  const auto table = special_casings();
  const auto entry = std::lower_bound(table.begin(), table.end(), c,
                                      [](const SpecialCasing& e, char32_t at) { return e.code_point < at; });
  if (entry != table.end() && entry->code_point == c) {
    out += form == Form::upper ? entry->upper : form == Form::title ? entry->title : entry->lower;
    return;
  }
  const auto code = static_cast<utf8proc_int32_t>(c);
  const auto simple = form == Form::upper   ? utf8proc_toupper(code)
                      : form == Form::title ? utf8proc_totitle(code)
                                            : utf8proc_tolower(code);
  out.push_back(static_cast<char32_t>(simple));
}

void append_cased(std::u32string& out, char32_t c, Form form) {
  if (c < 0x80) {
    if (form == Form::lower && c >= 'A' && c <= 'Z') c += 32;
    if (form != Form::lower && c >= 'a' && c <= 'z') c -= 32;
    out.push_back(c);
    return;
  }
  append_special(out, c, form);
}

bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x2018 || c == 0x2019 ||
             c == 0x2024 || c == 0x2027;
  }
}

// Σ ends a word: a cased letter before it and none after it, marks and the like not counted.
bool is_final_sigma(const std::u32string& text, std::size_t at) {
  std::size_t i = at;
  while (i > 0 && is_case_ignorable(text[i - 1])) --i;
  if (i == 0 || !is_cased(text[i - 1])) return false;
  i = at + 1;
  while (i < text.size() && is_case_ignorable(text[i])) ++i;
  return i == text.size() || !is_cased(text[i]);
}

void append_lower(std::u32string& out, const std::u32string& text, std::size_t at) {
  if (text[at] == 0x3A3)
    out.push_back(is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  else
    append_cased(out, text[at], Form::lower);
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    utf8proc_int32_t c = -1;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + i),
                                    static_cast<utf8proc_ssize_t>(text.size() - i), &c);
    if (n <= 0) return i;
    i += static_cast<std::size_t>(n);
  }
  return std::string_view::npos;
}

std::u32string decode(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t c = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    out.push_back(c);
    i += length;
  }
  return out;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (c >> 6)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (c >> 12)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (c >> 18)));
    out.push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::string encode(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0x1369 && c <= 0x1371) || c == 0x19DA ||
         c == 0x2070 || (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468) ||
         (c >= 0x2474 && c <= 0x247C) || (c >= 0x2488 && c <= 0x2490) || c == 0x24EA || (c >= 0x24F5 && c <= 0x24FD) ||
         c == 0x24FF || (c >= 0x2776 && c <= 0x277E) || (c >= 0x2780 && c <= 0x2788) || (c >= 0x278A && c <= 0x2792) ||
         (c >= 0x10A40 && c <= 0x10A43) || (c >= 0x10E60 && c <= 0x10E68) || (c >= 0x11052 && c <= 0x1105A) ||
         (c >= 0x1F100 && c <= 0x1F10A);
}

// CJK number words (一, 二 …) are numeric for Python though their category is letter.
bool is_numeric(char32_t c) {
  const auto kind = category(c);
  if (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO) return true;
  static constexpr std::u32string_view words =
      U"㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍"
      U"弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零\U0000F96B\U0000F973\U0000F978\U0000F9B2\U0000F9D1\U0000F9D3\U0000F9FD"
      U"\U00020001\U00020064\U000200E2\U00020121\U0002092A\U00020983\U0002098C\U0002099C\U00020AEA\U00020AFD\U00020B19"
      U"\U00022390\U00022998\U00023B1B\U0002626D"
      U"\U0002F890";
  return words.find(c) != words.npos;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return is_letter(c) || is_numeric(c);
}

bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  if (category(c) == UTF8PROC_CATEGORY_LL) return true;
  // Other_Lowercase: letters and symbols that behave as small ones.
  static constexpr char32_t ranges[][2] = {
      {0xaa, 0xaa},       {0xba, 0xba},       {0x2b0, 0x2b8},     {0x2c0, 0x2c1},    {0x2e0, 0x2e4},
      {0x345, 0x345},     {0x37a, 0x37a},     {0x1d2c, 0x1d6a},   {0x1d78, 0x1d78},  {0x1d9b, 0x1dbf},
      {0x2071, 0x2071},   {0x207f, 0x207f},   {0x2090, 0x209c},   {0x2170, 0x217f},  {0x24d0, 0x24e9},
      {0x2c7c, 0x2c7d},   {0xa69c, 0xa69d},   {0xa770, 0xa770},   {0xa7f8, 0xa7f9},  {0xab5c, 0xab5f},
      {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107ba}};
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](const auto& range) { return c >= range[0] && c <= range[1]; });
}

bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216F) || (c >= 0x24B6 && c <= 0x24CF) ||
         (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_title(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }

std::string upper(std::string_view text) {
  std::u32string out;
  for (char32_t c : decode(text)) append_cased(out, c, Form::upper);
  return encode(out);
}

std::string lower(std::string_view text) {
  const std::u32string points = decode(text);
  std::u32string out;
  for (std::size_t i = 0; i < points.size(); ++i) append_lower(out, points, i);
  return encode(out);
}

std::string case_fold(std::string_view text) {
  std::u32string out;
  for (char32_t c : decode(text)) {
    utf8proc_int32_t folded[8];
    int boundary = 0;
    const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8, UTF8PROC_CASEFOLD, &boundary);
    for (int i = 0; i < n; ++i) out.push_back(static_cast<char32_t>(folded[i]));
  }
  return encode(out);
}

std::string capitalize(std::string_view text) {
  const std::u32string points = decode(text);
  std::u32string out;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (i == 0)
      append_cased(out, points[i], Form::title);
    else
      append_lower(out, points, i);
  return encode(out);
}

std::string title(std::string_view text) {
  const std::u32string points = decode(text);
  std::u32string out;
  bool inside = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (inside)
      append_lower(out, points, i);
    else
      append_cased(out, points[i], Form::title);
    inside = is_cased(points[i]);
  }
  return encode(out);
}

std::string swap_case(std::string_view text) {
  const std::u32string points = decode(text);
  std::u32string out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_upper(points[i]))
      append_lower(out, points, i);
    else if (is_lower(points[i]))
      append_cased(out, points[i], Form::upper);
    else
      out.push_back(points[i]);
  }
  return encode(out);
}

bool is_cased_all(std::string_view text, bool want_lower) {
  bool any = false;
  for (char32_t c : decode(text)) {
    if (is_title(c) || (want_lower ? is_upper(c) : is_lower(c))) return false;
    any = any || (want_lower ? is_lower(c) : is_upper(c));
  }
  return any;
}

namespace {
template <typename Drop>
std::string strip_where(std::string_view text, Side side, Drop drop) {
  const std::u32string points = decode(text);
  std::size_t begin = 0, end = points.size();
  if (side != Side::right)
    while (begin < end && drop(points[begin])) ++begin;
  if (side != Side::left)
    while (end > begin && drop(points[end - 1])) --end;
  return encode(std::u32string_view(points).substr(begin, end - begin));
}
}  // namespace

std::string strip(std::string_view text, Side side) { return strip_where(text, side, is_space); }

std::string strip(std::string_view text, Side side, std::string_view characters) {
  const std::u32string set = decode(characters);
  return strip_where(text, side, [&](char32_t c) { return set.find(c) != set.npos; });
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  const std::u32string points = decode(text);
  const std::u32string_view view = points;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    while (end < points.size() && !is_line_break(points[end])) ++end;
    std::size_t next = end;
    if (next < points.size())
      next += points[next] == '\r' && next + 1 < points.size() && points[next + 1] == '\n' ? 2 : 1;
    lines.push_back(encode(view.substr(begin, (keep_ends ? next : end) - begin)));
    begin = next;
  }
  return lines;
}

std::vector<std::string> split_space(std::string_view text, std::int64_t limit, bool from_right) {
  const std::u32string points = decode(text);
  const std::u32string_view view = points;
  std::vector<std::string> words;
  std::size_t begin = 0, end = points.size();
  while (true) {
    while (begin < end && is_space(points[from_right ? end - 1 : begin])) from_right ? --end : ++begin;
    if (begin == end) break;
    if (limit == 0) {  // the rest stays whole; white space at its far end goes only when splitting from the right
      if (from_right)
        words.push_back(strip(encode(view.substr(begin, end - begin)), Side::right));
      else
        words.push_back(encode(view.substr(begin, end - begin)));
      break;
    }
    --limit;
    std::size_t cut = from_right ? end : begin;
    if (from_right) {
      while (cut > begin && !is_space(points[cut - 1])) --cut;
      words.push_back(encode(view.substr(cut, end - cut)));
      end = cut;
    } else {
      while (cut < end && !is_space(points[cut])) ++cut;
      words.push_back(encode(view.substr(begin, cut - begin)));
      begin = cut;
    }
  }
  if (from_right) std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace tilewright::hub::jinja

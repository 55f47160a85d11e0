#include "report/units.h"

#include <fmt/format.h>

#include <cmath>

#include "report/table.h"

namespace tilewright::report {
namespace {

bool is_known(const Number& value) { return value && std::isfinite(*value); }

struct Unit {
  double least;
  const char* name;
};

// The first unit that the rounded value reaches: 999.99 µs is 1.000 ms.
template <std::size_t N>
std::string with_unit(Number value, const Unit (&units)[N]) {
  if (!is_known(value)) return kNothing;
  const double size = std::abs(*value);
  for (const Unit& unit : units)
    if (size >= unit.least * 0.99995 || &unit == &units[N - 1])
      return significant_text(*value / unit.least) + " " + unit.name;
  return kNothing;
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

std::string significant_text(Number value, int digits) {
  if (!is_known(value)) return kNothing;
  const double size = std::abs(*value);
  if (size == 0) return "0";
  if (size >= 1e7 || size < 1e-4) return fmt::format("{:.{}e}", *value, digits - 1);
  int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  if (std::round(size * std::pow(10, digits - before)) >= std::pow(10, digits)) ++before;  // 9.9996 has four as 10.00
  return fmt::format("{:.{}f}", *value, std::max(0, digits - before));
}

std::string seconds_text(Number seconds) {
  static constexpr Unit kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  if (is_known(seconds) && *seconds == 0) return "0 s";
  return with_unit(seconds, kUnits);
}

std::string bytes_text(Number bytes) {
  static constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  if (is_known(bytes) && std::abs(*bytes) < 1000 && *bytes == std::floor(*bytes))
    return fmt::format("{:.0f} B", *bytes);
  return with_unit(bytes, kUnits);
}

std::string rate_text(Number per_second) { return significant_text(per_second); }

std::string percent_text(Number share) {
  if (!is_known(share)) return kNothing;
  const double percent = *share * 100;
  return (std::abs(percent) < 9999 ? fmt::format("{:.1f}", percent) : significant_text(percent)) + " %";
}

std::string ratio_text(Number ratio) {
  if (!is_known(ratio)) return kNothing;
  return std::abs(*ratio) < 9.9995 ? fmt::format("{:.3f}", *ratio) : significant_text(ratio);
}

std::string count_text(std::optional<std::int64_t> count) { return count ? std::to_string(*count) : kNothing; }

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

std::string shortened(std::string_view text, int width) {
  const std::string line = one_line(text);
  if (display_width(line) <= width) return line;
  return cut_to_width(line, width - 1) + "…";
}

std::string wrapped_text(std::string_view text, int width, int indent) {
  const std::string space(static_cast<std::size_t>(indent), ' ');
  std::string out;
  for (const std::string& line : folded_lines(one_line(text), width - indent))
    out += (out.empty() ? "" : space) + line + "\n";
  return out;
}

}  // namespace tilewright::report

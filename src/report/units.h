// Numbers as people read them, the same on the terminal and on the page: four significant digits and a unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/terminal_text.h"

namespace tilewright::report {

using Number = std::optional<double>;  // null in a report: not known, or without meaning there

inline constexpr const char* kNothing = "–";  // what stands where there is no number

// All give kNothing for no number and for one that is not finite. Numbers of 10^7 and more, and under 10^-4, are
// written with an exponent.
std::string significant_text(Number value, int digits = 4);
std::string seconds_text(Number seconds);  // "12.34 ms": ns, µs, ms or s
std::string bytes_text(Number bytes);      // "1.234 GB": B, kB, MB, GB or TB (powers of 1,000)
std::string rate_text(Number per_second);  // "123.4"
std::string percent_text(Number share);    // 0.873 → "87.3 %"
std::string ratio_text(Number ratio);      // "1.234", "12.34"; three decimals below 10
std::string count_text(std::optional<std::int64_t> count);

using tilewright::one_line;

// one_line(text) cut to `width` terminal cells, ending in "…" where something was cut.
std::string shortened(std::string_view text, int width);

// Broken at spaces into lines of at most `width` cells, every line but the first indented. Ends in a line break.
std::string wrapped_text(std::string_view text, int width, int indent = 0);

}  // namespace tilewright::report

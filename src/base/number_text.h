// Numbers as people read them: significant digits, powers of 1,000.
#pragma once

#include <span>
#include <string>

namespace tilewright {

// Of finite numbers. 10^7 and more, and under 10^-4, are written with an exponent.
std::string significant_text(double value, int digits = 4);

struct NumberUnit {
  double least;
  const char* name;
};
// With the first unit, largest first, that the rounded value reaches: 999.99 µs is 1.000 ms. The last one serves
// whatever is smaller.
std::string text_with_unit(double value, std::span<const NumberUnit> units);

// "1.234 GB", "999 B": B, kB, MB, GB or TB.
std::string bytes_text(double bytes);

}  // namespace tilewright

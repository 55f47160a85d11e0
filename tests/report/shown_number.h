// A number as a reader takes it from a table: "12.34 ms" is 0.01234, give or take half its last digit.
#pragma once

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

namespace tilewright::test {

struct ShownNumber {
  double value = 0;
  double half_digit = 0;  // half of what the last digit written counts
};

// Knows the units of report/units.h; what follows a blank after them is not read. Nothing if the text does not begin
// with a number.
inline std::optional<ShownNumber> shown_number(const std::string& text) {
  const char* begin = text.c_str();
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  if (end == begin) return {};
  const std::string digits(begin, static_cast<std::size_t>(end - begin));
  const std::size_t exponent = digits.find('e');
  const std::size_t point = digits.find('.');
  const std::size_t mantissa = exponent == digits.npos ? digits.size() : exponent;
  const double decimals = point == digits.npos ? 0 : static_cast<double>(mantissa - point - 1);
  double step = std::pow(10, -decimals);
  if (exponent != digits.npos) step *= std::pow(10, std::atoi(digits.c_str() + exponent + 1));
  double unit = 1;
  std::string name = end;
  if (!name.empty() && name[0] == ' ') name = name.substr(1, name.find(' ', 1) - 1);
  const std::pair<const char*, double> units[] = {{"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}, {"%", 1e-2},
                                                  {"kB", 1e3},  {"MB", 1e6},  {"GB", 1e9},  {"TB", 1e12}};
  for (const auto& [known, scale] : units)
    if (name == known) unit = scale;
  return ShownNumber{number * unit, 0.5 * step * unit};
}

}  // namespace tilewright::test

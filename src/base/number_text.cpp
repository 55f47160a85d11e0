#include "base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {

std::string significant_text(double value, int digits) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e7 || size < 1e-4) return fmt::format("{:.{}e}", value, digits - 1);
  int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  if (std::round(size * std::pow(10, digits - before)) >= std::pow(10, digits)) ++before;  // 9.9996 has four as 10.00
  return fmt::format("{:.{}f}", value, std::max(0, digits - before));
}

std::string text_with_unit(double value, std::span<const NumberUnit> units) {
  const auto reached = [&](const NumberUnit& unit) { return std::abs(value) >= unit.least * 0.99995; };
  const auto found = std::find_if(units.begin(), units.end() - 1, reached);
  return significant_text(value / found->least) + " " + found->name;
}

std::string bytes_text(double bytes) {
  static constexpr NumberUnit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
  if (std::abs(bytes) < 1000 && bytes == std::floor(bytes)) return fmt::format("{:.0f} B", bytes);
  return text_with_unit(bytes, kUnits);
}

}  // namespace tilewright

#include "report/units.h"

#include <fmt/format.h>

#include <cmath>

#include "base/number_text.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

bool is_known(const Number& value) { return value && std::isfinite(*value); }

}  // namespace

std::string significant_text(Number value, int digits) {
  return is_known(value) ? tilewright::significant_text(*value, digits) : kNothing;
}

std::string seconds_text(Number seconds) {
  static constexpr NumberUnit kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
  if (!is_known(seconds)) return kNothing;
  return *seconds == 0 ? "0 s" : text_with_unit(*seconds, kUnits);
}

std::string bytes_text(Number bytes) { return is_known(bytes) ? tilewright::bytes_text(*bytes) : kNothing; }

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

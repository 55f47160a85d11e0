#include "report/charts/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/units.h"

namespace tilewright::report {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

std::string css_percent(double share) {
  std::string text = fmt::format("{:.3f}", std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * 100 : 0.0);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

}  // namespace tilewright::report

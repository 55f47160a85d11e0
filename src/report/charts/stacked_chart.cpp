#include "report/charts/stacked_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/charts/markup.h"
#include "report/units.h"

namespace tilewright::report {
namespace {

constexpr int kStackRow = 44, kStackTop = 20, kStackHeight = 16;  // pixels

double length_of(const StackedPart& part) { return std::isfinite(part.value) ? std::max(0.0, part.value) : 0; }

double sum_of(const StackedBar& bar) {
  double sum = 0;
  for (const StackedPart& part : bar.parts) sum += length_of(part);
  return sum;
}

}  // namespace

std::string stacked_chart(const std::string& description, const std::vector<StackedBar>& bars) {
  double most = 0;
  for (const StackedBar& bar : bars) most = std::max(most, sum_of(bar));
  const int height = kStackRow * static_cast<int>(bars.size());
  std::string out = fmt::format(R"(<svg class="chart" role="img" aria-label="{}" width="100%" height="{}">)",
                                escaped(description), height);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const int top = kStackRow * static_cast<int>(i);
    out += fmt::format("\n<text class=\"label\" x=\"0\" y=\"{}\">{}</text>", top + 14, escaped(bars[i].label));
    out += fmt::format(R"(<text class="value" x="100%" y="{}" text-anchor="end">{}</text>)", top + 14,
                       escaped(bars[i].text));
    out += fmt::format(R"(<rect class="track" x="0" y="{}" width="100%" height="{}"/>)", top + kStackTop, kStackHeight);
    double from = 0;
    for (const StackedPart& part : bars[i].parts) {
      const double length = length_of(part);
      if (length <= 0 || most <= 0) continue;
      out +=
          fmt::format(R"(<rect class="bar {}" x="{}" y="{}" width="{}" height="{}"><title>{}: {} ({})</title></rect>)",
                      escaped(part.css), css_percent(from / most), top + kStackTop, css_percent(length / most),
                      kStackHeight, escaped(part.name), seconds_text(length), percent_text(length / sum_of(bars[i])));
      from += length;
    }
  }
  return out + "\n</svg>\n";
}

std::string chart_legend(const std::vector<StackedPart>& parts) {
  std::string out = "<ul class=\"legend\">";
  std::set<std::string> seen;
  for (const StackedPart& part : parts)
    if (seen.insert(part.name).second)
      out += fmt::format(
          R"(<li><svg class="swatch" width="12" height="12" aria-hidden="true"><rect class="{}" width="12" height="12"/></svg>{}</li>)",
          escaped(part.css), escaped(part.name));
  return out + "</ul>\n";
}

}  // namespace tilewright::report

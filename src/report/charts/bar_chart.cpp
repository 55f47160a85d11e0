#include "report/charts/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/markup.h"

namespace tilewright::report {
namespace {

constexpr int kRow = 44, kBarTop = 20, kBarHeight = 14, kCap = 4;  // pixels

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "tone-good";
    case Tone::caution:
      return "tone-caution";
    case Tone::bad:
      return "tone-bad";
    case Tone::neutral:
      break;
  }
  return "tone-neutral";
}

std::string line(const char* css, const std::string& x1, int y1, const std::string& x2, int y2) {
  return fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>)", css, x1, y1, x2, y2);
}

}  // namespace

std::string bar_chart(const std::string& description, const std::vector<Bar>& bars, Number reference) {
  double most = reference.value_or(0);
  for (const Bar& bar : bars)
    for (const Number& n : {bar.value, bar.high})
      if (n && std::isfinite(*n)) most = std::max(most, *n);
  const auto at = [&](double value) { return css_percent(most > 0 ? value / most / 1.02 : 0); };
  const int height = kRow * static_cast<int>(bars.size());
  std::string out = fmt::format(R"(<svg class="chart" role="img" aria-label="{}" width="100%" height="{}">)",
                                escaped(description), height);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const int top = kRow * static_cast<int>(i), middle = top + kBarTop + kBarHeight / 2;
    out += fmt::format("\n<text class=\"label\" x=\"0\" y=\"{}\">{}</text>", top + 14, escaped(bar.label));
    out +=
        fmt::format(R"(<text class="value" x="100%" y="{}" text-anchor="end">{}</text>)", top + 14, escaped(bar.text));
    out += fmt::format(R"(<rect class="track" x="0" y="{}" width="100%" height="{}"/>)", top + kBarTop, kBarHeight);
    if (!bar.value) continue;
    out += fmt::format(R"(<rect class="bar {}" x="0" y="{}" width="{}" height="{}"><title>{}: {}</title></rect>)",
                       tone_class(bar.tone), top + kBarTop, at(*bar.value), kBarHeight, escaped(bar.label),
                       escaped(bar.text));
    if (bar.low && bar.high) {
      out += line("whisker", at(*bar.low), middle, at(*bar.high), middle);
      for (const double end : {*bar.low, *bar.high})
        out += line("whisker", at(end), middle - kCap, at(end), middle + kCap);
    }
  }
  if (reference)
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const int top = kRow * static_cast<int>(i) + kBarTop;
      out += line("reference", at(*reference), top - 2, at(*reference), top + kBarHeight + 2);
    }
  return out + "\n</svg>\n";
}

}  // namespace tilewright::report

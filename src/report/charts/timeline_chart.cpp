#include "report/charts/timeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/charts/markup.h"
#include "report/units.h"

namespace tilewright::report {
namespace {

constexpr int kLaneRow = 38, kSpanTop = 18, kSpanHeight = 18, kAxis = 22;  // pixels
constexpr double kNarrowestSpan = 0.0008;  // of the width, so that a short span can be seen

}  // namespace

std::string timeline_chart(const std::string& description, const std::vector<TimelineSpan>& spans, double begin_s,
                           double end_s) {
  std::vector<std::string> lanes;
  for (const TimelineSpan& span : spans)
    if (std::find(lanes.begin(), lanes.end(), span.lane) == lanes.end()) lanes.push_back(span.lane);
  const double whole = end_s - begin_s;
  const int axis = kLaneRow * static_cast<int>(lanes.size());
  std::string out = fmt::format(R"(<svg class="chart" role="img" aria-label="{}" width="100%" height="{}">)",
                                escaped(description), axis + kAxis);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const int top = kLaneRow * static_cast<int>(i);
    out += fmt::format("\n<text class=\"value\" x=\"0\" y=\"{}\">{}</text>", top + 13, escaped(lanes[i]));
    out += fmt::format(R"(<rect class="track" x="0" y="{}" width="100%" height="{}"/>)", top + kSpanTop, kSpanHeight);
    for (const TimelineSpan& span : spans) {
      const double length = span.end_s - span.start_s;
      if (span.lane != lanes[i] || !(whole > 0) || !std::isfinite(length) || length < 0) continue;
      out += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}: {}</title></rect>)",
                         escaped(span.css), css_percent((span.start_s - begin_s) / whole), top + kSpanTop,
                         css_percent(std::max(length / whole, kNarrowestSpan)), kSpanHeight, escaped(span.name),
                         seconds_text(length));
    }
  }
  if (whole > 0) {
    out += fmt::format("\n<text class=\"value\" x=\"0\" y=\"{}\">0</text>", axis + 16);
    for (const auto& [share, anchor] : {std::pair{0.5, "middle"}, {1.0, "end"}})
      out += fmt::format(R"(<text class="value" x="{}" y="{}" text-anchor="{}">{}</text>)", css_percent(share),
                         axis + 16, anchor, seconds_text(whole * share));
  }
  return out + "\n</svg>\n";
}

}  // namespace tilewright::report

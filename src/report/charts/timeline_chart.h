// Lanes of work over time: what ran when, and where nothing ran.
#pragma once

#include <string>
#include <vector>

namespace tilewright::report {

struct TimelineSpan {
  std::string lane;  // "device"
  std::string name;  // shown when pointed at
  std::string css;   // a class of chart_style()
  double start_s = 0, end_s = 0;
};

// One row a lane, in the order of their first appearance; the axis runs from `begin_s` to `end_s`. Bare track is idle
// time. Spans that are not finite or end before they start are left out.
std::string timeline_chart(const std::string& description, const std::vector<TimelineSpan>& spans, double begin_s,
                           double end_s);

}  // namespace tilewright::report

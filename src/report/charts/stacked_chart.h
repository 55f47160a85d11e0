// Horizontal bars made of parts, and the legend of the parts.
#pragma once

#include <string>
#include <vector>

namespace tilewright::report {

struct StackedPart {
  std::string name;
  std::string css;  // a class of chart_style(): "part-matmul"
  double value = 0;
};

struct StackedBar {
  std::string label;
  std::string text;  // stands at the right end
  std::vector<StackedPart> parts;
};

// All bars share one scale, so that a shorter bar is a smaller sum. Negative and unknown parts are left out. Sizes as
// in bar_chart.
std::string stacked_chart(const std::string& description, const std::vector<StackedBar>& bars);

// The names of the parts, each behind its colour, in the order of their first appearance.
std::string chart_legend(const std::vector<StackedPart>& parts);

}  // namespace tilewright::report

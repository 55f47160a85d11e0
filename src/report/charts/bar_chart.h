// Horizontal bars with whiskers, as an SVG element to put into a page.
#pragma once

#include <string>
#include <vector>

#include "report/units.h"

namespace tilewright::report {

enum class Tone { good, caution, bad, neutral };

struct Bar {
  std::string label;
  Number value;      // none: the row has its text and no bar
  Number low, high;  // the whisker, if both are there
  std::string text;  // stands at the right end
  Tone tone = Tone::neutral;
};

// As wide as its place, with type of the page's size: lengths are shares of the width. `reference`, where given, is a
// dashed line at that value. `description` is what a screen reader says of the whole. Colours: classes of
// chart_style().
std::string bar_chart(const std::string& description, const std::vector<Bar>& bars, Number reference = {});

}  // namespace tilewright::report

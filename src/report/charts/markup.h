// Texts and numbers as HTML and SVG take them.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::report {

// For text and for attributes in double quotes: & < > " ' are written as entities, what would steer or is no UTF-8 as
// one_line does.
std::string escaped(std::string_view text);

// A share of a width: 0.25 → "25%". Not finite: "0%"; kept within 0 and 100 %.
std::string css_percent(double share);

}  // namespace tilewright::report

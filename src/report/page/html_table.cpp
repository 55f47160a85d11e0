#include "report/page/html_table.h"

#include <fmt/format.h>

#include "base/error.h"
#include "report/charts/markup.h"

namespace tilewright::report {

HtmlCell words(std::string text, std::string css) {
  return {.text = std::move(text), .json = {}, .css = std::move(css), .is_number = false};
}

void HtmlTable::add_row(std::vector<HtmlCell> cells) {
  TW_CHECK(cells.size() == titles_.size());
  rows_.push_back(std::move(cells));
}

std::string HtmlTable::text() const {
  std::string out = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n<thead><tr>", escaped(name_));
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    const bool number = !rows_.empty() && rows_[0][c].is_number;
    out += fmt::format("<th scope=\"col\"{}>{}</th>", number ? " class=\"number\"" : "", escaped(titles_[c]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const HtmlCell& cell = row[c];
      std::string css = cell.is_number ? "number" : "";
      if (!cell.css.empty()) css += (css.empty() ? "" : " ") + cell.css;
      out += c == 0 ? "<th scope=\"row\"" : "<td";
      if (!css.empty()) out += " class=\"" + escaped(css) + "\"";
      if (!cell.json.empty()) out += " data-json=\"" + escaped(cell.json) + "\"";
      out += ">" + escaped(cell.text) + (c == 0 ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace tilewright::report

// What every page has around its content: head, style sheet, policy; and the small pieces pages are made of.
#pragma once

#include <string>
#include <vector>

#include "report/bench/report_texts.h"

namespace tilewright::report {

// A whole document. `title` is escaped here, `body` is HTML. Its policy allows no request and no script.
std::string page_frame(const std::string& title, const std::string& body);

std::string html_heading(int level, const std::string& text);  // escaped, as all below
std::string html_paragraph(const std::string& text, const std::string& css = {});
std::string html_facts(const Facts& facts);  // names and texts; "command" as code
std::string html_list(const std::vector<std::string>& items);
// A chart with its caption; `chart` is HTML.
std::string html_figure(const std::string& chart, const std::string& caption);

}  // namespace tilewright::report

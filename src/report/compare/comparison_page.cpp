#include "report/charts/bar_chart.h"
#include "report/compare/comparison.h"
#include "report/page/html_table.h"
#include "report/page/page_frame.h"

namespace tilewright::report {
namespace {

std::string chart(const CasePair& pair) {
  std::vector<Bar> bars;
  std::string description = "Ratios of A and B";
  for (const ArmPair& arm : pair.arms)
    for (const auto& [letter, one] : {std::pair{"A", arm.a}, {"B", arm.b}}) {
      if (!one || !one->shown_ratio()) continue;
      Bar bar{.label = arm.name + ", " + letter, .value = one->ratio->value, .text = ratio_cell(*one)};
      if (one->seconds.size() >= kLeastRounds) bar.low = one->ratio->low, bar.high = one->ratio->high;
      bar.tone = *letter == 'A' ? Tone::neutral : Tone::good;
      description += "; " + bar.label + " " + bar.text;
      bars.push_back(std::move(bar));
    }
  if (bars.empty()) return {};
  return html_figure(bar_chart(description, bars, 1.0), "Each run's own ratios against its " + ratio_base(*pair.a) +
                                                            ", whiskers: 95 % interval. Grey: A, green: B.");
}

std::string table(const CasePair& pair, bool absolute) {
  std::vector<std::string> titles = {"arm", "A against " + ratio_base(*pair.a), "B against " + ratio_base(*pair.b),
                                     "B / A", "difference"};
  if (absolute) titles.insert(titles.end(), {"A tok/s", "B tok/s"});
  HtmlTable out("comparison", titles);
  for (const ArmPair& arm : pair.arms) {
    const auto ratio = [](const Arm* one) {
      if (!one) return HtmlCell{"not there"};
      return HtmlCell{one->shown_ratio() ? ratio_cell(*one) : verdict_text(*one)};
    };
    std::vector<HtmlCell> row = {words(arm.name),
                                 ratio(arm.a),
                                 ratio(arm.b),
                                 {ratio_text(arm.change)},
                                 words(!arm.change   ? kNothing
                                       : arm.claimed ? "claimed"
                                                     : "no claim",
                                       !arm.claimed      ? "faint"
                                       : *arm.change > 1 ? "good"
                                                         : "caution")};
    if (absolute)
      for (const Arm* one : {arm.a, arm.b})
        row.push_back({rate_text(one && !one->is_wrong() ? one->rate_median : Number())});
    out.add_row(std::move(row));
  }
  return out.text();
}

}  // namespace

std::string comparison_page(const NamedReport& a, const NamedReport& b) {
  const Comparison c = compare(a.report, b.report);
  const std::string title = "Two runs side by side";
  std::string body = html_heading(1, title) + html_facts({{"A", a.name}, {"B", b.name}});
  if (!c.why_not.empty()) body += html_paragraph("Not put side by side: " + c.why_not + ".", "notice bad");
  if (c.why_not.empty() && !c.why_no_absolute.empty())
    body += html_paragraph("Absolute numbers are not compared: " + c.why_no_absolute + ".", "notice");
  if (!c.remarks.empty()) body += html_list(c.remarks);
  for (const CasePair& pair : c.cases)
    body += html_heading(2, pair.a->label) + chart(pair) + table(pair, c.why_no_absolute.empty());
  std::vector<std::string> single;
  for (const std::string& label : c.only_a) single.push_back("only in A: " + label);
  for (const std::string& label : c.only_b) single.push_back("only in B: " + label);
  if (!single.empty()) body += html_list(single);
  for (const auto& [letter, one] : {std::pair{"A", &a}, {"B", &b}})
    body += html_heading(2, std::string(letter) + ": " + one->name) + html_facts(header_facts(one->report));
  return page_frame(title, body);
}

}  // namespace tilewright::report

#include "report/page/bench_page.h"

#include <fmt/format.h>

#include <ostream>

#include "base/mapped_file.h"
#include "report/bench/report_texts.h"
#include "report/charts/markup.h"
#include "report/page/case_section.h"
#include "report/page/html_table.h"
#include "report/page/page_frame.h"

namespace tilewright::report {
namespace {

std::string notices(const BenchReport& report) {
  std::string out;
  const auto notice = [&](const std::string& text, bool bad) {
    out += html_paragraph(text, bad ? "notice bad" : "notice");
  };
  if (!report.incomplete.empty()) notice("Incomplete: " + report.incomplete, false);
  if (report.smoke && report.smoke->ran && !report.smoke->passed)
    notice("The smoke gate failed: the model's output makes no sense.", true);
  for (const BenchCase& one : report.cases)
    for (const Arm& arm : one.arms)
      if (arm.is_wrong())
        notice(one.label + ": " + arm.name + " computes something else than " + ratio_base(one) + "; it has no ratio.",
               true);
      else if (arm.status == "failed")
        notice(one.label + ": " + arm.name + " failed" + (arm.error ? ": " + arm.error->what : "") + ".", true);
  for (const PortStep& step : report.steps)
    if (step.status == "failed") notice("Step " + step.name + " failed: " + step.detail, true);
  for (const std::string& warning : report.warnings) notice("Warning: " + warning, false);
  return out;
}

// With more than one case: a line each, that leads to its section.
std::string contents(const BenchReport& report) {
  std::string items;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const std::string headline = case_headline(report.cases[i]);
    items += fmt::format("<li><a href=\"#case-{}\">{}</a>{}</li>\n", i, escaped(report.cases[i].label),
                         headline.empty() ? "" : ": " + escaped(headline));
  }
  return items.empty() ? items : "<ul class=\"short headline\">\n" + items + "</ul>\n";
}

std::string smoke(const BenchReport& report) {
  if (!report.smoke) return {};
  std::string out = html_heading(2, "Smoke gate") + html_paragraph(smoke_text(*report.smoke));
  HtmlTable table("smoke gate", {"check", "value", "bound", "result", "note"});
  for (std::size_t i = 0; i < report.smoke->checks.size(); ++i) {
    const SmokeCheck& check = report.smoke->checks[i];
    table.add_row({words(check.name),
                   {check.value},
                   {check.bound.empty() ? kNothing : check.bound},
                   words(check.passed ? "passed" : "failed", check.passed ? "good" : "bad"),
                   words(check.note)});
  }
  return table.empty() ? out : out + table.text();
}

std::string steps(const BenchReport& report) {
  if (report.steps.empty()) return {};
  HtmlTable table("steps", {"step", "status", "time", "detail"});
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const PortStep& step = report.steps[i];
    table.add_row({words(step.name),
                   words(step.status, step.status == "failed" ? "bad"
                                      : step.status == "done" ? "good"
                                                              : "faint"),
                   {seconds_text(step.seconds), "/result/steps/" + std::to_string(i) + "/seconds"},
                   words(step.detail)});
  }
  return html_heading(2, "Steps") + table.text();
}

}  // namespace

std::string bench_page(const Json& envelope) { return bench_page(bench_report(envelope)); }

std::string bench_page(const BenchReport& report) {
  const std::string name = report.model.name.empty() ? "A model" : report.model.name;
  const std::string title = report.has_bench ? name + ": " + report.regime : "A port that measured nothing";
  std::string body = html_heading(1, title);
  if (!report.regime_reason.empty())
    body += html_paragraph("Regime " + report.regime + ": " + report.regime_reason, "lead");
  body += contents(report) + notices(report) + steps(report);
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    body +=
        case_section(report.cases[i], report.json_path() + "/cases/" + std::to_string(i), "case-" + std::to_string(i));
  body += smoke(report);
  body += html_heading(2, "Machine, settings, how to reproduce") + html_facts(header_facts(report));
  body += "<footer>" + escaped("Rendered by tilewright from a report of tilewright " + report.tool_version + ".") +
          "</footer>\n";
  return page_frame(title, body);
}

void write_page(const std::filesystem::path& path, const std::string& page) {
  write_file_atomically(path, [&](std::ostream& out) { out << page; });
}

}  // namespace tilewright::report

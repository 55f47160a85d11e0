#include "report/bench/report_texts.h"
#include "report/compare/comparison.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

std::string described(const char* letter, const NamedReport& one) {
  const BenchReport& r = one.report;
  std::string out = std::string(letter) + "  " + one.name;
  for (const std::string& part : {r.model.name, r.model.dtype, r.regime, machine_text(r.fingerprint), r.created,
                                  r.tool_version + (r.tool_commit.empty() ? "" : " " + r.tool_commit)})
    if (!part.empty()) out += ", " + part;
  return out;
}

std::string verdict_or_rate(const Arm* arm) {
  if (!arm) return "not there";
  return arm->has_numbers() && !arm->is_wrong() ? rate_text(arm->rate_median) : verdict_text(*arm);
}

Table arm_table(const CasePair& pair, bool absolute) {
  std::vector<Table::Column> columns = {{"arm"},
                                        {"A vs " + shortened(ratio_base(*pair.a), 12)},
                                        {"B vs " + shortened(ratio_base(*pair.b), 12)},
                                        {"B / A", Align::right},
                                        {"difference"}};
  if (absolute) columns.insert(columns.end(), {{"A tok/s", Align::right}, {"B tok/s", Align::right}});
  Table t(std::move(columns));
  for (const ArmPair& arm : pair.arms) {
    const auto ratio = [](const Arm* one) {
      if (!one) return std::string("not there");
      return one->shown_ratio() ? ratio_cell(*one) : verdict_text(*one);
    };
    std::vector<std::string> row = {one_line(arm.name), ratio(arm.a), ratio(arm.b), ratio_text(arm.change),
                                    !arm.change   ? kNothing
                                    : arm.claimed ? "claimed"
                                                  : "no claim"};
    if (absolute) row.insert(row.end(), {verdict_or_rate(arm.a), verdict_or_rate(arm.b)});
    t.add_row(std::move(row));
    if (arm.change) t.paint(4, !arm.claimed ? Style::faint : *arm.change > 1 ? Style::good : Style::caution);
  }
  return t;
}

}  // namespace

std::string comparison_tables(const NamedReport& a, const NamedReport& b, const TableOptions& options) {
  const Comparison c = compare(a.report, b.report);
  std::string out =
      wrapped_text(described("A", a), options.width, 3) + wrapped_text(described("B", b), options.width, 3);
  const auto line = [&](const std::string& text) { out += wrapped_text("- " + text, options.width, 2); };
  if (!c.why_not.empty()) {
    line("not put side by side: " + c.why_not);
    for (const NamedReport* one : {&a, &b})
      out += "\n" + styled(one == &a ? "A" : "B", Style::strong, options.colour) + "\n" +
             bench_tables(one->report, options);
    return out;
  }
  for (const std::string& remark : c.remarks) line(remark);
  line(c.why_no_absolute.empty() ? "same machine: absolute numbers stand beside the ratios"
                                 : "absolute numbers are not compared: " + c.why_no_absolute);
  for (const CasePair& pair : c.cases) {
    out += "\n" + styled(shortened(pair.a->label, options.width), Style::strong, options.colour) + "\n";
    out += arm_table(pair, c.why_no_absolute.empty()).text(options.width, options.colour);
  }
  for (const auto& [name, labels] : {std::pair{"A", &c.only_a}, {"B", &c.only_b}})
    for (const std::string& label : *labels) line("only in " + std::string(name) + ": " + label);
  for (std::size_t at = 0; (at = out.find("\u00a0", at)) != std::string::npos;) out.replace(at, 2, " ");
  return out;
}

}  // namespace tilewright::report

#include "report/bench/bench_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/bench/report_texts.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

constexpr int kNameWidth = 10;  // of facts: "settings  "

// At most seven characters: 12.34, 1234, 123.4k, 1e+300.
std::string compact_text(Number value) {
  if (!value || !std::isfinite(*value)) return kNothing;
  const double size = std::abs(*value);
  if (size < 99999.5) return size >= 1e-3 || size == 0 ? significant_text(value) : fmt::format("{:.0e}", *value);
  static constexpr std::pair<double, const char*> kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [unit, name] : kUnits)
    if (size >= unit && size < 1000 * unit) return significant_text(*value / unit, 3) + name;
  return fmt::format("{:.0e}", *value);
}

std::string short_percent(Number share) {
  if (!share || !std::isfinite(*share)) return kNothing;
  return std::abs(*share) < 9.995 ? fmt::format("{:.0f} %", *share * 100) : "> 999 %";
}

Style verdict_style(const Arm& arm) {
  const std::string verdict = verdict_text(arm);
  if (verdict == "wrong" || verdict == "failed") return Style::bad;
  if (verdict == "near-tie" || verdict == "refused" || verdict == "skipped") return Style::caution;
  return verdict == "equal" ? Style::good : Style::faint;
}

Style ratio_style(const Arm& arm) {
  if (!is_claimed(arm)) return Style::faint;
  return *arm.ratio->low > 1 ? Style::good : Style::caution;
}

// The unit in which the largest of some times is 1 or more.
std::pair<double, const char*> common_unit(const std::vector<Number>& seconds) {
  double largest = 0;
  for (const Number& one : seconds)
    if (one && std::isfinite(*one)) largest = std::max(largest, std::abs(*one));
  if (largest >= 1) return {1, "s"};
  return largest >= 1e-3 ? std::pair{1e-3, "ms"} : std::pair{1e-6, "µs"};
}

class Printer {
 public:
  Printer(const BenchReport& report, const TableOptions& options) : report_(report), options_(options) {}

  std::string text() {
    facts(header_facts(report_));
    if (report_.smoke) smoke(*report_.smoke);
    if (!report_.incomplete.empty()) fact("INCOMPLETE", report_.incomplete, Style::bad);
    if (!report_.steps.empty()) steps();
    if (report_.has_bench && report_.cases.empty()) paragraph("No case was measured.");
    for (const BenchCase& one : report_.cases) bench_case(one);
    if (!report_.warnings.empty()) {
      heading("warnings");
      for (const std::string& warning : report_.warnings) item(warning);
    }
    for (std::size_t at = 0; (at = out_.find("\u00a0", at)) != std::string::npos;) out_.replace(at, 2, " ");
    return std::move(out_);
  }

 private:
  void heading(const std::string& text) {
    out_ += "\n" + styled(shortened(text, options_.width), Style::strong, options_.colour) + "\n";
  }
  void paragraph(const std::string& text) { out_ += wrapped_text(text, options_.width); }
  void item(const std::string& text) { out_ += "- " + wrapped_text(text, options_.width, 2); }
  void fact(const std::string& name, const std::string& text, Style style = Style::faint) {
    const std::string padded =
        name + std::string(static_cast<std::size_t>(std::max(2, kNameWidth - display_width(name))), ' ');
    const std::string body = wrapped_text(text, options_.width - display_width(padded) + kNameWidth, kNameWidth);
    out_ += styled(padded, style, options_.colour) + body;
  }
  void facts(const Facts& all) {
    for (const auto& [name, text] : all) fact(one_line(name), text);
  }
  void table(const Table& one) { out_ += one.text(options_.width, options_.colour); }

  void smoke(const SmokeGate& gate) {
    fact("smoke", smoke_text(gate), gate.ran && !gate.passed ? Style::bad : Style::faint);
    for (const SmokeCheck& check : gate.checks) {
      if (check.passed && check.note.empty()) continue;
      std::string text = (check.passed ? "passed: " : "FAILED: ") + check.name;
      if (!check.value.empty()) text += ", " + check.value;
      if (!check.bound.empty()) text += ", bound " + check.bound;
      fact("", text + (check.note.empty() ? "" : ", " + check.note));
    }
  }

  void steps() {
    heading("steps");
    Table t({{"step"}, {"status"}, {"time", Align::right}, {"detail"}});
    for (const PortStep& step : report_.steps) {
      t.add_row({one_line(step.name), one_line(step.status), seconds_text(step.seconds), one_line(step.detail)});
      t.paint(1, step.status == "failed" ? Style::bad : step.status == "done" ? Style::good : Style::faint);
    }
    table(t);
  }

  void bench_case(const BenchCase& one) {
    heading(one.label.empty() ? report_.regime : one.label);
    if (const std::string text = case_text(one); !text.empty()) paragraph(text);
    arms(one);
    for (const Arm& arm : one.arms)
      if (verdict_text(arm) == "near-tie") item(arm.name + ": " + verdict_details(arm));
    splits(one);
    differences(one);
    memory(one);
    coverage(one);
    costs(one);
    failures(one);
  }

  void arms(const BenchCase& one) {
    std::vector<Number> times;
    bool has_latency = false;
    for (const Arm& arm : one.arms)
      if (arm.latency) {
        has_latency = true;
        times.insert(times.end(), {arm.latency->ttft_s, arm.latency->tpot_s, arm.latency->p50_s, arm.latency->p99_s});
      }
    const auto [unit, unit_name] = common_unit(times);
    std::vector<Table::Column> columns = {{"arm"},
                                          {"tok/s", Align::right},
                                          {"best", Align::right},
                                          {"vs " + shortened(ratio_base(one), 20) + " [95\u00a0%]", Align::left, true},
                                          {"of limit", Align::right, true}};
    if (has_latency)
      for (const char* name : {"TTFT", "TPOT", "p50", "p99"})
        columns.push_back({std::string(name) + " " + unit_name, Align::right, true});
    columns.push_back({"peak mem.", Align::right, true});
    columns.push_back({"equality"});
    const std::size_t last = columns.size() - 1;
    Table t(std::move(columns));
    for (const Arm& arm : one.arms) {
      std::vector<std::string> row = {one_line(arm.name), compact_text(arm.rate_median), compact_text(arm.rate_best),
                                      ratio_cell(arm), short_percent(arm.is_wrong() ? Number() : arm.limit_share)};
      if (has_latency) {
        const Latency none, &l = arm.latency ? *arm.latency : none;
        for (const Number& s : {l.ttft_s, l.tpot_s, l.p50_s, l.p99_s})
          row.push_back(compact_text(s ? Number(*s / unit) : s));
      }
      row.push_back(arm.memory && arm.memory->peak ? compact_text(*arm.memory->peak) + "B" : kNothing);
      row.push_back(one_line(verdict_text(arm)));
      t.add_row(std::move(row));
      t.paint(3, ratio_style(arm));
      t.paint(last, verdict_style(arm));
    }
    table(t);
  }

  void splits(const BenchCase& one) {
    Table t({{"time of"},
             {"median", Align::right},
             {"kernels", Align::right},
             {"submission", Align::right},
             {"bubbles", Align::right},
             {"compile", Align::right},
             {"launches per token", Align::right, true},
             {"cost of one", Align::right, true},
             {"traced / not", Align::right, true}});
    bool any = false;
    for (const Arm& arm : one.arms) {
      if (!arm.split && !arm.launches_per_token) continue;
      any = true;
      const Split none, &s = arm.split ? *arm.split : none;
      t.add_row({one_line(arm.name), seconds_text(arm.median_s), seconds_text(s.kernels_s),
                 seconds_text(s.submission_s), seconds_text(s.bubbles_s), seconds_text(s.compile_s),
                 compact_text(arm.launches_per_token), seconds_text(arm.launch_cost_s), ratio_text(s.trace_slowdown)});
    }
    if (!any) return;
    out_ += "\n";
    table(t);
  }

  void differences(const BenchCase& one) {
    Table t({{"saved by"},
             {"whole", Align::right},
             {"kernels", Align::right},
             {"submission", Align::right},
             {"bubbles", Align::right},
             {"compile", Align::right}});
    bool any = false;
    for (const Difference& d : one.differences) {
      if (!is_shown(d, one)) continue;
      any = true;
      t.add_row({one_line(d.from + " → " + d.to), seconds_text(d.whole_s), seconds_text(d.kernels_s),
                 seconds_text(d.submission_s), seconds_text(d.bubbles_s), seconds_text(d.compile_s)});
    }
    if (!any) return;
    out_ += "\n";
    table(t);
  }

  void memory(const BenchCase& one) {
    Table t({{"memory of"},
             {"allocated", Align::right},
             {"peak", Align::right},
             {"reserved", Align::right},
             {"reserved grew"}});
    bool any = false;
    for (const Arm& arm : one.arms) {
      if (!arm.memory) continue;
      any = true;
      const ArmMemory& m = *arm.memory;
      t.add_row({one_line(arm.name), bytes_text(m.allocated), bytes_text(m.peak), bytes_text(m.reserved),
                 m.reserved_grew ? *m.reserved_grew ? "yes" : "no" : kNothing});
      if (m.reserved_grew.value_or(false)) t.paint(4, Style::caution);
    }
    if (!any) return;
    out_ += "\n";
    table(t);
  }

  void coverage(const BenchCase& one) {
    if (one.coverage.empty()) return;
    Table t({{"coverage of"}, {"operator"}, {"fused", Align::right}, {"small ops", Align::right}, {"why"}});
    for (const CoverageRow& row : one.coverage)
      t.add_row(
          {one_line(row.block), one_line(row.op), count_text(row.fused), count_text(row.small), one_line(row.why)});
    out_ += "\n";
    table(t);
  }

  void costs(const BenchCase& one) {
    Table t({{"once"},
             {"load", Align::right},
             {"compile", Align::right},
             {"tune", Align::right},
             {"capture", Align::right},
             {"instantiate", Align::right},
             {"graphs", Align::right},
             {"nodes", Align::right},
             {"barriers removed", Align::right, true},
             {"arena", Align::right}});
    bool any = false;
    for (const Arm& arm : one.arms) {
      if (!arm.once && !arm.graph) continue;
      any = true;
      const OneTimeCosts no_costs, &c = arm.once ? *arm.once : no_costs;
      const GraphFacts no_graph, &g = arm.graph ? *arm.graph : no_graph;
      t.add_row({one_line(arm.name), seconds_text(c.load_s), seconds_text(c.compile_s), seconds_text(c.tune_s),
                 seconds_text(c.capture_s), seconds_text(c.instantiate_s), count_text(c.graphs), count_text(g.nodes),
                 count_text(g.barriers_removed), bytes_text(g.arena_bytes)});
    }
    if (!any) return;
    out_ += "\n";
    table(t);
  }

  void failures(const BenchCase& one) {
    for (const Diagnosis& d : diagnoses(one)) {
      if (d.facts.size() > 1) {
        heading(d.arm + ": " + d.verdict);
        facts(d.facts);
      } else {
        out_ += "\n";
        item(d.arm + ": " + d.verdict + (d.facts.empty() ? "" : ": " + d.facts[0].second));
      }
    }
  }

  const BenchReport& report_;
  const TableOptions options_;
  std::string out_;
};

}  // namespace

std::string bench_tables(const Json& envelope, const TableOptions& options) {
  return bench_tables(bench_report(envelope), options);
}

std::string bench_tables(const BenchReport& report, const TableOptions& options) {
  return Printer(report, options).text();
}

}  // namespace tilewright::report

#include "report/page/case_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/bench/report_texts.h"
#include "report/charts/bar_chart.h"
#include "report/charts/chart_style.h"
#include "report/charts/markup.h"
#include "report/charts/stacked_chart.h"
#include "report/charts/timeline_chart.h"
#include "report/page/html_table.h"
#include "report/page/page_frame.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMostOps = 24;  // rows of the table by operator

std::string arm_path(const std::string& json, std::size_t arm) { return json + "/arms/" + std::to_string(arm); }

std::string verdict_css(const Arm& arm) {
  const std::string verdict = verdict_text(arm);
  if (verdict == "wrong" || verdict == "failed") return "bad";
  if (verdict == "near-tie" || verdict == "refused" || verdict == "skipped") return "caution";
  return verdict == "equal" ? "good" : "faint";
}

HtmlCell ratio_html(const Arm& arm, const std::string& json) {
  HtmlCell cell{.text = ratio_cell(arm)};
  if (!arm.shown_ratio()) return cell;
  cell.json = json + "/ratio/value";
  cell.css = !is_claimed(arm) ? "faint" : *arm.ratio->low > 1 ? "good" : "caution";
  return cell;
}

std::string ratios(const BenchCase& one) {
  std::vector<Bar> bars;
  for (const Arm& arm : one.arms) {
    Bar bar{.label = arm.name};
    if (const Ratio* ratio = arm.shown_ratio()) {
      bar.value = ratio->value;
      if (arm.seconds.size() >= kLeastRounds) bar.low = ratio->low, bar.high = ratio->high;
      bar.text = ratio_cell(arm);
      bar.tone = !is_claimed(arm) ? Tone::neutral : *arm.ratio->low > 1 ? Tone::good : Tone::caution;
    } else if (arm.name == ratio_base(one) && arm.has_numbers()) {
      bar.value = 1;
      bar.text = "1";
    } else {
      bar.text = verdict_text(arm) == "–" ? "no ratio" : verdict_text(arm) + ": no ratio";
    }
    bars.push_back(std::move(bar));
  }
  if (bars.empty()) return {};
  const std::string what = "Speed against " + ratio_base(one);
  std::string description = what;
  for (const Bar& bar : bars) description += "; " + bar.label + " " + bar.text;
  return html_figure(
      bar_chart(description, bars, 1.0),
      what +
          ": median of the ratios of the rounds, whiskers: 95 % interval. Dashed: 1. Grey: no difference is claimed.");
}

std::string speed_table(const BenchCase& one, const std::string& json) {
  HtmlTable table("speed", {"arm", "tok/s", "best tok/s", "against " + ratio_base(one), "best against best",
                            "of the limit", "peak memory", "rounds", "equality"});
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    const Arm& arm = one.arms[i];
    const std::string at = arm_path(json, i);
    const Ratio* ratio = arm.shown_ratio();
    const Number peak = arm.memory ? arm.memory->peak : Number();
    table.add_row(
        {words(arm.name),
         {rate_text(arm.rate_median), at + "/rate_median"},
         {rate_text(arm.rate_best), at + "/rate_best"},
         ratio_html(arm, at),
         {ratio_text(ratio ? ratio->best_of : Number()), ratio ? at + "/ratio/best_of" : ""},
         {percent_text(arm.is_wrong() ? Number() : arm.limit_share), arm.is_wrong() ? "" : at + "/limit_share"},
         {bytes_text(peak), arm.memory ? at + "/memory/peak" : ""},
         {std::to_string(arm.seconds.size())},
         words(verdict_text(arm), verdict_css(arm))});
  }
  return table.text();
}

std::string latency_table(const BenchCase& one, const std::string& json) {
  HtmlTable table("latency", {"arm", "first token", "a further token, mean", "p50", "p90", "p99"});
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    if (!one.arms[i].latency) continue;
    const Latency& l = *one.arms[i].latency;
    std::vector<HtmlCell> row = {words(one.arms[i].name)};
    const std::pair<const char*, Number> times[] = {
        {"ttft_s", l.ttft_s}, {"tpot_s", l.tpot_s}, {"p50_s", l.p50_s}, {"p90_s", l.p90_s}, {"p99_s", l.p99_s}};
    for (const auto& [name, seconds] : times)
      row.push_back({seconds_text(seconds), arm_path(json, i) + "/latency/" + name});
    table.add_row(std::move(row));
  }
  if (table.empty()) return {};
  return html_heading(3, "Latency") +
         html_paragraph("TTFT, the time to the first token; TPOT, the mean time of a further one, and its percentiles.",
                        "lead") +
         table.text();
}

std::string splits(const BenchCase& one, const std::string& json) {
  std::vector<StackedBar> bars;
  HtmlTable table("where the time goes", {"arm", "median", "kernels", "submission", "bubbles", "compile",
                                          "launches per token", "cost of a launch", "traced / untraced"});
  std::vector<StackedPart> legend;
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    const Arm& arm = one.arms[i];
    if (!arm.split) continue;
    const Split& s = *arm.split;
    StackedBar bar{arm.name, seconds_text(arm.median_s), {}};
    const std::string at = arm_path(json, i);
    std::vector<HtmlCell> row = {words(arm.name), {seconds_text(arm.median_s), at + "/median_s"}};
    const std::pair<const char*, Number> parts[] = {
        {"kernels", s.kernels_s}, {"submission", s.submission_s}, {"bubbles", s.bubbles_s}, {"compile", s.compile_s}};
    for (const auto& [name, seconds] : parts) {
      bar.parts.push_back({name, std::string("part-") + name, seconds.value_or(0)});
      row.push_back({seconds_text(seconds), at + "/split/" + name + "_s"});
    }
    row.push_back({significant_text(arm.launches_per_token), at + "/launches_per_token"});
    row.push_back({seconds_text(arm.launch_cost_s), at + "/launch_cost_s"});
    row.push_back({ratio_text(s.trace_slowdown), at + "/split/trace_slowdown"});
    table.add_row(std::move(row));
    legend = bar.parts;
    bars.push_back(std::move(bar));
  }
  if (bars.empty()) return {};
  return html_heading(3, "Where the time goes") +
         html_figure(stacked_chart("Time of one timed iteration by what it was spent on", bars) + chart_legend(legend),
                     "One timed iteration. Kernels: something ran on the device. Bubbles: nothing ran, because the "
                     "host had not "
                     "issued the next launch. Submission: issued, but not yet started, or not yet known to the host.") +
         table.text();
}

std::string differences(const BenchCase& one, const std::string& json) {
  HtmlTable table("what each step saves", {"step", "whole", "kernels", "submission", "bubbles", "compile"});
  for (std::size_t i = 0; i < one.differences.size(); ++i) {
    const Difference& d = one.differences[i];
    if (!is_shown(d, one)) continue;
    const std::string at = json + "/differences/" + std::to_string(i);
    std::vector<HtmlCell> row = {words(d.from + " → " + d.to)};
    const std::pair<const char*, Number> parts[] = {{"whole_s", d.whole_s},
                                                    {"kernels_s", d.kernels_s},
                                                    {"submission_s", d.submission_s},
                                                    {"bubbles_s", d.bubbles_s},
                                                    {"compile_s", d.compile_s}};
    for (const auto& [name, seconds] : parts) row.push_back({seconds_text(seconds), at + "/" + name});
    table.add_row(std::move(row));
  }
  if (table.empty()) return {};
  return html_heading(3, "What each step saves") +
         html_paragraph("Time saved in one timed iteration; the parts sum to the whole. Negative: lost.", "lead") +
         table.text();
}

std::string by_operator(const BenchCase& one, const std::string& json) {
  static constexpr const char* kClasses[] = {"matmul", "attention", "norm", "elementwise", "move", "other"};
  std::vector<StackedBar> bars;
  std::vector<StackedPart> legend;
  std::vector<std::pair<std::string, double>> ops;  // over all arms, for the order of rows
  std::vector<std::string> titles = {"operator", "class"};
  std::vector<std::size_t> arms;
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    const Arm& arm = one.arms[i];
    if (arm.by_op.empty()) continue;
    arms.push_back(i);
    titles.push_back(arm.name);
    StackedBar bar{arm.name, {}, {}};
    double sum = 0;
    for (const char* name : kClasses) {
      StackedPart part{name, class_part(name), 0};
      for (const OpTime& op : arm.by_op)
        if (class_part(op.op_class) == part.css) part.value += op.seconds;
      sum += part.value;
      if (part.value > 0) bar.parts.push_back(part);
      legend.push_back(part);
    }
    bar.text = seconds_text(sum);
    bars.push_back(std::move(bar));
    for (const OpTime& op : arm.by_op) {
      const auto known = std::find_if(ops.begin(), ops.end(), [&](const auto& o) { return o.first == op.op; });
      if (known == ops.end())
        ops.emplace_back(op.op, op.seconds);
      else
        known->second = std::max(known->second, op.seconds);
    }
  }
  if (arms.empty()) return {};
  std::erase_if(legend, [&](const StackedPart& part) {
    return std::none_of(legend.begin(), legend.end(),
                        [&](const StackedPart& p) { return p.name == part.name && p.value > 0; });
  });
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  HtmlTable table("time by operator", titles);
  for (std::size_t row = 0; row < std::min(ops.size(), kMostOps); ++row) {
    std::vector<HtmlCell> cells = {words(ops[row].first), words("")};
    for (const std::size_t i : arms) {
      const std::vector<OpTime>& all = one.arms[i].by_op;
      const auto found = std::find_if(all.begin(), all.end(), [&](const OpTime& o) { return o.op == ops[row].first; });
      if (found == all.end()) {
        cells.push_back({kNothing});
        continue;
      }
      cells[1].text = found->op_class;
      cells.push_back({seconds_text(found->seconds) + (found->launches ? fmt::format(" ({}×)", *found->launches) : ""),
                       arm_path(json, i) + "/by_op/" + std::to_string(found - all.begin()) + "/seconds"});
    }
    table.add_row(std::move(cells));
  }
  std::string out = html_heading(3, "By operator") +
                    html_figure(stacked_chart("Kernel time by class of operator", bars) + chart_legend(legend),
                                "Kernel time of one traced iteration by class of operator; in brackets the launches.") +
                    table.text();
  if (ops.size() > kMostOps)
    out += html_paragraph(
        fmt::format("{} more operators, each quicker than these, are in the report.", ops.size() - kMostOps), "lead");
  return out;
}

std::string timelines(const BenchCase& one) {
  double end = 0;
  for (const Arm& arm : one.arms)
    for (const TimelineEntry& e : arm.timeline) end = std::max(end, e.end_s);
  if (!(end > 0)) return {};
  std::string out;
  std::vector<StackedPart> legend;
  for (const Arm& arm : one.arms) {
    if (arm.timeline.empty()) continue;
    std::vector<TimelineSpan> spans;
    double busy = 0, reached = 0, last = 0;
    std::size_t launches = 0;
    for (const char* lane : {"device", "host"})
      for (const TimelineEntry& e : arm.timeline) {
        if (e.lane != lane) continue;
        std::string css = "part-host";
        if (e.lane == "device") {
          const auto op =
              std::find_if(arm.by_op.begin(), arm.by_op.end(), [&](const OpTime& o) { return o.op == e.op; });
          const std::string op_class = op == arm.by_op.end() ? "other" : op->op_class;
          css = class_part(op_class);
          legend.push_back({css == "part-other" ? "other" : op_class, css, 1});
          busy += std::max(0.0, e.end_s - std::max(e.start_s, reached));
          reached = std::max(reached, e.end_s);
          ++launches;
        } else {
          legend.push_back({"host", css, 1});
        }
        last = std::max(last, e.end_s);
        spans.push_back(
            {arm.name + ": " + e.lane, e.op + (e.path.empty() ? "" : " " + e.path), css, e.start_s, e.end_s});
      }
    std::string caption = fmt::format("{}: {} launches in {}", arm.name, launches, seconds_text(last));
    if (last > 0) caption += ", the device stood idle for " + percent_text(1 - busy / last);
    if (arm.timeline_cut.value_or(0) > 0) caption += fmt::format("; {} more are not drawn", *arm.timeline_cut);
    out += html_figure(timeline_chart(caption, spans, 0, end), caption);
  }
  return html_heading(3, "One step") + out + chart_legend(legend);
}

std::string memory(const BenchCase& one, const std::string& json) {
  HtmlTable table("memory", {"arm", "allocated", "peak", "reserved", "reserved grew"});
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    const Arm& arm = one.arms[i];
    if (!arm.memory) continue;
    const ArmMemory& m = *arm.memory;
    const std::string at = arm_path(json, i) + "/memory";
    const bool grew = m.reserved_grew.value_or(false);
    table.add_row({words(arm.name),
                   {bytes_text(m.allocated), at + "/allocated"},
                   {bytes_text(m.peak), at + "/peak"},
                   {bytes_text(m.reserved), at + "/reserved"},
                   words(!m.reserved_grew ? kNothing
                         : grew           ? "yes"
                                          : "no",
                         grew ? "caution" : "")});
    bars.push_back({.label = arm.name, .value = m.peak, .text = bytes_text(m.peak)});
  }
  if (table.empty()) return {};
  return html_heading(3, "Memory") +
         html_figure(bar_chart("Peak memory of each arm's own pool", bars),
                     "Peak of each arm's own pool; the weights are shared.") +
         table.text();
}

std::string costs(const BenchCase& one, const std::string& json) {
  HtmlTable once("one-time costs", {"arm", "load", "compile", "tune", "capture", "instantiate", "graphs"});
  HtmlTable graphs("graphs", {"arm", "nodes", "phases", "barriers removed", "arena", "planned without sharing"});
  for (std::size_t i = 0; i < one.arms.size(); ++i) {
    const Arm& arm = one.arms[i];
    const std::string at = arm_path(json, i);
    if (arm.once) {
      const OneTimeCosts& c = *arm.once;
      once.add_row({words(arm.name),
                    {seconds_text(c.load_s), at + "/once/load_s"},
                    {seconds_text(c.compile_s), at + "/once/compile_s"},
                    {seconds_text(c.tune_s), at + "/once/tune_s"},
                    {seconds_text(c.capture_s), at + "/once/capture_s"},
                    {seconds_text(c.instantiate_s), at + "/once/instantiate_s"},
                    {count_text(c.graphs), at + "/once/graphs"}});
    }
    if (arm.graph) {
      const GraphFacts& g = *arm.graph;
      graphs.add_row({words(arm.name),
                      {count_text(g.nodes), at + "/graph/nodes"},
                      {count_text(g.phases), at + "/graph/phases"},
                      {count_text(g.barriers_removed), at + "/graph/barriers_removed"},
                      {bytes_text(g.arena_bytes), at + "/graph/arena_bytes"},
                      {bytes_text(g.planned_bytes), at + "/graph/planned_bytes"}});
    }
  }
  std::string out;
  if (!once.empty()) out += html_heading(3, "Paid once") + once.text();
  if (!graphs.empty()) out += html_heading(3, "Graphs") + graphs.text();
  return out;
}

std::string coverage(const BenchCase& one, const std::string& json) {
  HtmlTable table("coverage", {"block", "operator", "fused", "small ops", "why"});
  for (std::size_t i = 0; i < one.coverage.size(); ++i) {
    const CoverageRow& row = one.coverage[i];
    const std::string at = json + "/coverage/" + std::to_string(i);
    table.add_row({words(row.block),
                   words(row.op),
                   {count_text(row.fused), at + "/fused"},
                   {count_text(row.small), at + "/small"},
                   words(row.why)});
  }
  HtmlTable uses("kernels used and refused", {"arm", "operator", "candidate", "calls", "why not a better one"});
  for (std::size_t i = 0; i < one.arms.size(); ++i)
    for (const auto& [name, list] : {std::pair{"/fused/", &one.arms[i].fused}, {"/fallbacks/", &one.arms[i].fallbacks}})
      for (std::size_t k = 0; k < list->size(); ++k) {
        const KernelUse& use = (*list)[k];
        uses.add_row({words(one.arms[i].name),
                      words(use.op),
                      words(use.candidate),
                      {count_text(use.count), arm_path(json, i) + name + std::to_string(k) + "/count"},
                      words(use.reason)});
      }
  std::string out;
  if (!table.empty()) out += html_heading(3, "What is fused") + table.text();
  if (!uses.empty()) out += html_heading(3, "Which kernels ran") + uses.text();
  return out;
}

std::string failures(const BenchCase& one) {
  std::string out;
  for (const Diagnosis& d : diagnoses(one)) {
    const bool bad = d.verdict == "wrong" || d.verdict == "failed";
    out += fmt::format("<section class=\"failure{}\">\n<h4>{}: {}</h4>\n", bad ? "" : " caution", escaped(d.arm),
                       escaped(d.verdict)) +
           html_facts(d.facts) + "</section>\n";
  }
  std::vector<std::string> ties;
  for (const Arm& arm : one.arms)
    if (verdict_text(arm) == "near-tie") ties.push_back(arm.name + ": " + verdict_details(arm));
  if (!ties.empty()) out = html_list(ties) + out;
  if (out.empty()) return out;
  return html_heading(3, out.find("<section") == out.npos ? "Remarks" : "Failures and remarks") + out;
}

}  // namespace

std::string case_headline(const BenchCase& one) {
  const Arm* best = nullptr;
  for (const Arm& arm : one.arms)
    if (const Ratio* ratio = arm.shown_ratio(); ratio && (!best || ratio->value > best->ratio->value)) best = &arm;
  if (!best) return {};
  return best->name + " against " + best->ratio->against + ": " + ratio_cell(*best);
}

std::string case_section(const BenchCase& one, const std::string& json, const std::string& id) {
  std::string out =
      fmt::format("<section id=\"{}\">\n", escaped(id)) + html_heading(2, one.label.empty() ? "Case" : one.label);
  if (const std::string text = case_text(one); !text.empty()) out += html_paragraph(text, "lead");
  return out + ratios(one) + speed_table(one, json) + failures(one) + latency_table(one, json) + splits(one, json) +
         differences(one, json) + by_operator(one, json) + timelines(one) + memory(one, json) + costs(one, json) +
         coverage(one, json) + "</section>\n";
}

}  // namespace tilewright::report

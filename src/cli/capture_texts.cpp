#include "cli/capture_texts.h"

#include <fmt/format.h>

#include "report/table.h"
#include "report/units.h"

namespace tilewright::cli {
namespace {

constexpr int kWidth = 100;
constexpr int kLabel = 14;

std::string line(const char* label, const std::string& text) {
  if (text.empty()) return {};
  std::string out;
  for (const std::string& part : report::folded_lines(text, kWidth - kLabel))
    out += fmt::format("{:<{}}{}\n", out.empty() ? fmt::format("  {}", label) : "", kLabel, part);
  return out;
}

std::string counted(int n) { return n ? std::to_string(n) : report::kNothing; }
std::string seconds(double s) { return s > 0 ? report::seconds_text(s) : report::kNothing; }

std::string outcome(const engine::PassReport& pass) {
  if (pass.failure) return fmt::format("{}{}", pass.failure->likely ? "likely " : "", pass.failure->code);
  return pass.compared ? "bit for bit" : "captured";
}

}  // namespace

std::string failure_text(const engine::CaptureFailure& f) {
  std::string out = line("error", fmt::format("{}{}{}", f.likely ? "likely " : "", f.code ? std::to_string(f.code) : "",
                                              f.name.empty() ? "" : (f.code ? " " : "") + f.name));
  out += line("what", f.what) + line("culprit", f.where) + line("expected", f.expected) + line("found", f.found) +
         line("cause", f.cause) + line("fix", f.fix);
  return out;
}

std::string check_text(const engine::CaptureCheck& check) {
  using report::Align;
  report::Table passes({{"pass"},
                        {"launches", Align::right},
                        {"phases", Align::right},
                        {"arena", Align::right},
                        {"capture", Align::right},
                        {"replay", Align::right},
                        {"against eager"}});
  std::size_t timed = 0;
  for (const engine::PassReport& pass : check.passes) {
    timed = std::max(timed, pass.replay_s.size());
    passes.add_row({pass.name, counted(pass.launches), counted(pass.phases),
                    pass.arena_bytes ? report::bytes_text(static_cast<double>(pass.arena_bytes)) : report::kNothing,
                    seconds(pass.capture_s), seconds(pass.median_s), outcome(pass)});
  }
  std::string out = passes.text(kWidth);
  if (timed)
    out += fmt::format("replay: median of {}, 3 eager warm-ups on a side stream and 2 replays before\n", timed);
  for (const engine::PassReport& pass : check.passes)
    if (pass.failure) out += fmt::format("\n{} cannot be captured\n", pass.name) + failure_text(*pass.failure);

  out += "\nmitigations\n";
  for (const engine::Mitigation& m : check.mitigations)
    out += line(engine::mitigation_state_name(m.state), m.name + ": " + m.reason);

  if (!check.target.empty()) {
    out += fmt::format("\non {}: known rules, not measured\n", check.target);
    if (check.findings.empty()) out += "  none concerns this pass\n";
    for (const engine::TargetFinding& f : check.findings)
      out += line(f.certain ? "breaks" : "may break",
                  fmt::format("{} ({} {}, first {}{}): {}", f.rule, f.calls, f.calls == 1 ? "call" : "calls", f.op,
                              f.path.empty() ? "" : " in " + f.path, f.reason));
  }
  return out + fmt::format("\nverdict: {}\n", check.capturable() ? "capturable" : "not capturable");
}

std::string bisection_text(const engine::Bisection& bisection) {
  report::Table stages({{"stage"}, {"outcome"}, {"launches", report::Align::right}, {"what it holds"}});
  for (const engine::BisectStage& s : bisection.stages)
    stages.add_row({s.name, engine::bisect_status_name(s.status), counted(s.launches), s.scope});
  std::string out = stages.text(kWidth);
  const engine::BisectStage* failed = bisection.first_failure();
  if (!failed) return out + "\nverdict: every stage was captured and replayed\n";
  return out + fmt::format("\nfirst stage that fails: {}\n", failed->name) + failure_text(*failed->failure) +
         "\nverdict: not capturable\n";
}

Json check_json(const engine::CaptureCheck& check) {
  Json passes = Json::array(), mitigations = Json::array(), rules = Json::array();
  for (const engine::PassReport& p : check.passes)
    passes.push_back({{"name", p.name},
                      {"captured", !p.failure.has_value()},
                      {"equal", p.compared ? Json(p.equal) : Json()},
                      {"failure", p.failure ? engine::failure_json(*p.failure) : Json()},
                      {"launches", p.launches},
                      {"side_launches", p.side_launches},
                      {"phases", p.phases},
                      {"barriers_removed", p.barriers_removed},
                      {"arena_bytes", p.arena_bytes},
                      {"planned_bytes", p.planned_bytes},
                      {"capture_s", p.capture_s},
                      {"instantiate_s", p.instantiate_s},
                      {"replay_s", p.replay_s},
                      {"median_s", p.replay_s.empty() ? Json() : Json(p.median_s)}});
  for (const engine::Mitigation& m : check.mitigations)
    mitigations.push_back({{"name", m.name}, {"state", engine::mitigation_state_name(m.state)}, {"reason", m.reason}});
  for (const engine::TargetFinding& f : check.findings)
    rules.push_back({{"rule", f.rule},
                     {"certain", f.certain},
                     {"op", f.op},
                     {"path", f.path},
                     {"calls", f.calls},
                     {"reason", f.reason},
                     {"measured", false}});
  return {{"capturable", check.capturable()},
          {"passes", passes},
          {"mitigations", mitigations},
          {"target", check.target.empty() ? Json() : Json(check.target)},
          {"target_rules", rules}};
}

Json bisection_json(const engine::Bisection& bisection) {
  Json stages = Json::array();
  for (const engine::BisectStage& s : bisection.stages)
    stages.push_back({{"name", s.name},
                      {"scope", s.scope},
                      {"status", engine::bisect_status_name(s.status)},
                      {"launches", s.launches},
                      {"failure", s.failure ? engine::failure_json(*s.failure) : Json()}});
  return {{"capturable", bisection.first_failure() == nullptr}, {"stages", stages}};
}

}  // namespace tilewright::cli

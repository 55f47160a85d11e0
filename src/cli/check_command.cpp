#include "cli/check_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/fusion_report.h"
#include "cli/model_notes.h"
#include "cli/model_options.h"
#include "engine/golden_check.h"
#include "hub/golden.h"
#include "report/envelope.h"

namespace tilewright::cli {
namespace {

struct Options : ModelOptions {
  std::string golden;
};

std::string place_text(const std::vector<std::int64_t>& place) { return fmt::format("[{}]", fmt::join(place, ", ")); }

std::string difference_text(const engine::GreedyDifference& d) {
  return fmt::format(
      "[{}, {}]: {}, the reference has {}{}", d.row, d.step, d.ours, d.expected,
      d.gap ? fmt::format(", its top-2 gap is {:.6g}{}", *d.gap, d.judged ? "" : " (not judged)") : std::string());
}

void print(const engine::CheckResult& r, const engine::Session& session, const hub::Golden& golden) {
  const auto& ids = golden.input_ids.shape;
  const models::ModelInfo& model = session.model().info();
  fmt::print("model   {}, {} layers, run in {}\n", model.family, model.layers, dtype_name(r.dtype));
  fmt::print("golden  {} × {} tokens, {} greedy; {}, {}\n", ids[0], ids[1], golden.greedy_ids.shape[1],
             golden.reference, dtype_name(golden.dtype));
  fmt::print("logits  worst error {:.6g} at {} ({:.6g}, the reference has {:.6g})\n", r.worst_error,
             place_text(r.worst_place), r.ours, r.expected);
  if (r.bound)
    fmt::print("        bound {:.6g} ({}; the largest |logit| is {:.6g})\n", *r.bound, r.bound_source, r.max_logit);
  fmt::print("greedy  {} of {} tokens equal\n", r.greedy_equal, r.greedy_tokens);
  if (r.first_difference) fmt::print("        first difference at {}\n", difference_text(*r.first_difference));
  if (r.first_judged_difference && r.first_judged_difference->step != r.first_difference->step)
    fmt::print("        first judged difference at {}\n", difference_text(*r.first_judged_difference));
  fmt::print("verdict: {}{}\n", verdict_name(r.verdict), r.reason.empty() ? "" : ": " + r.reason);
}

Json difference_json(const std::optional<engine::GreedyDifference>& d) {
  if (!d) return nullptr;
  return {{"row", d->row},
          {"step", d->step},
          {"ours", d->ours},
          {"expected", d->expected},
          {"gap", d->gap ? Json(*d->gap) : Json()},
          {"judged", d->judged}};
}

void write(const Options& options, const engine::CheckResult& r, engine::Session& session) {
  if (options.report_file.empty()) return;
  report::write_report(options.report_file, {.kind = "check",
                                             .seeds = {},
                                             .result = {{"verdict", std::string(verdict_name(r.verdict))},
                                                        {"reason", r.reason},
                                                        {"dtype", std::string(dtype_name(r.dtype))},
                                                        {"device", options.device},
                                                        {"threads", session.device().threads()},
                                                        {"worst_error", r.worst_error},
                                                        {"worst_place", r.worst_place},
                                                        {"max_logit", r.max_logit},
                                                        {"bound", r.bound ? Json(*r.bound) : Json()},
                                                        {"greedy_tokens", r.greedy_tokens},
                                                        {"greedy_equal", r.greedy_equal},
                                                        {"first_difference", difference_json(r.first_difference)},
                                                        {"fused", fused_json(session.fallbacks())},
                                                        {"fallbacks", fallbacks_json(session.fallbacks())},
                                                        {"tuning", tuning_json(session.tuner())},
                                                        {"found_chains", chains_json(session)}}});
}

void run(const Options& options) {
  const hub::Golden golden = hub::read_golden(options.golden);
  engine::SessionOptions session_flags = session_options(options, "check");
  if (options.dtype == "auto") session_flags.load.dtype = golden.dtype;
  const Program program;
  engine::Session session(program, session_flags);
  print_model_notes(session.model().info());
  const engine::CheckResult result = engine::check_golden(session, golden);
  print(result, session, golden);
  std::fputs(tuning_text(session.tuner()).c_str(), stdout);
  std::fputs(fusion_text(session.fallbacks()).c_str(), stdout);
  write(options, result, session);
  if (result.verdict == engine::Verdict::different) throw ExitCode{1};
}

}  // namespace

void add_check_command(CLI::App& app) {
  Command command(app, "check", "Compare a model's logits and greedy tokens with the reference implementation's");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, false);
  command.add_option("--golden", options->golden, "File written by tools/make_golden.py").required();
  command.footer("--dtype auto means the golden's. Exit 0: within the bounds, or not judged; 1: different.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli

#include "cli/capture_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <ostream>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/capture_texts.h"
#include "cli/command_line.h"
#include "cli/errors_command.h"
#include "cli/exit_code.h"
#include "cli/fusion_report.h"
#include "cli/model_notes.h"
#include "cli/model_options.h"
#include "cli/usage.h"
#include "engine/runner.h"
#include "report/envelope.h"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kPrompt = 8;  // tokens of the passes that are tried

struct Options : ModelOptions {
  std::string target, inject;
  std::int64_t context = 0;
  std::string regime = "decode", format = "json", output;
  std::int64_t seq = 16;
};

// The session, its decisions made, and what a report says of it.
struct Loaded {
  Loaded(const Options& options, const std::string& command, std::int64_t prompt)
      : session(program, session_options(options, command)) {
    print_model_notes(session.model().info());
    session.prepare(1, engine::prefill_bucket(prompt), nn::kBucket);
  }
  Program program;
  engine::Session session;
};

void print_model(const Options& options, engine::Session& session) {
  const models::ModelInfo& model = session.model().info();
  fmt::print("{}, {} layers, run in {} on {} with {} {}, --fuse {}\n\n", model.family, model.layers,
             dtype_name(model.dtype), session.device().name(), session.device().threads(),
             session.device().threads() == 1 ? "thread" : "threads", options.fuse);
  std::fputs(tuning_text(session.tuner()).c_str(), stdout);
}

void write(const Options& options, engine::Session& session, const char* kind, Json result) {
  if (options.report_file.empty()) return;
  const models::ModelInfo& model = session.model().info();
  result["model"] = {{"family", model.family},
                     {"description", model.description},
                     {"layers", model.layers},
                     {"dtype", std::string(dtype_name(model.dtype))},
                     {"weights", options.weights}};
  result["device"] = session.device().name();
  result["threads"] = session.device().threads();
  result["fuse"] = options.fuse;
  report::write_report(options.report_file, {.kind = kind, .seeds = {}, .result = std::move(result)});
}

void check(const Options& options) {
  Loaded loaded(options, "capture check", kPrompt);
  const engine::CaptureCheck found =
      engine::check_capture(loaded.session, {.prompt = kPrompt, .context = options.context, .target = options.target});
  print_model(options, loaded.session);
  std::fputs(check_text(found).c_str(), stdout);
  write(options, loaded.session, "capture-check", check_json(found));
  if (!found.capturable()) throw ExitCode{1};
}

void bisect(const Options& options) {
  std::optional<engine::Injection> injection;
  const auto or_wrong_usage = [](const auto& work) {
    try {
      return work();
    } catch (const Error& error) {
      if (error.text().where != "--inject") throw;
      throw WrongUsage("capture bisect", "--inject: " + error.text().what);
    }
  };
  if (!options.inject.empty()) injection = or_wrong_usage([&] { return engine::parse_injection(options.inject); });
  Loaded loaded(options, "capture bisect", kPrompt);
  const engine::Bisection found =
      or_wrong_usage([&] { return engine::bisect_capture(loaded.session, injection, kPrompt); });
  print_model(options, loaded.session);
  if (injection) fmt::print("injected: {}\n\n", injection->text());
  std::fputs(bisection_text(found).c_str(), stdout);
  Json result = bisection_json(found);
  result["injection"] = injection ? Json(injection->text()) : Json();
  write(options, loaded.session, "capture-bisect", std::move(result));
  if (found.first_failure()) throw ExitCode{1};
}

void dump(const Options& options) {
  Loaded loaded(options, "capture dump", options.seq);
  engine::Runner runner(loaded.session, engine::Submission::graph);
  runner.begin(1, options.seq + 1);
  runner.prepare(options.seq, options.seq + 1);
  const runtime::ExecutableGraph& graph =
      options.regime == "decode" ? *runner.decode_graph(options.seq) : *runner.prefill_graph(options.seq);
  const std::string text = options.format == "dot" ? runtime::graph_dot(graph.graph(), graph.plan())
                                                   : runtime::graph_json(graph.graph(), graph.plan()).dump(1) + "\n";
  if (options.output.empty())
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file_atomically(options.output, [&](std::ostream& out) { out << text; });
}

void add_check(Command& parent) {
  Command command(parent, "check", "Capture a model's decode step and prompt, replay them and compare with eager");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, true);
  command.add_option("--target", options->target, "Also name what else would break there, by known rules: 910b2 …");
  command
      .add_option("--ctx", options->context, "Positions that decoding may reach (default: the model's, at most 4096)")
      .range(1, 1 << 24);
  command.footer("Exit 0: both passes can be captured; 1: one cannot, with code, name, culprit, cause and fix.");
  command.on_run([options] { check(*options); });
}

void add_bisect(Command& parent) {
  Command command(parent, "bisect", "Find the first part that cannot be captured: embed+norm, attention, layer, model");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, true);
  command.add_option("--inject", options->inject,
                     "Do something illegal at a place: KIND@PLACE. Kinds: synchronize, pageable-copy, side-stream, "
                     "growing-shape, freed-buffer, host-value. Places: operators, modules, embed, head");
  command.footer("Exit 0: every stage was captured and replayed; 1: one fails.");
  command.on_run([options] { bisect(*options); });
}

void add_dump(Command& parent) {
  Command command(parent, "dump", "Write the graph of a decode step or a prompt: nodes, phases, memory");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, true);
  command.add_option("--regime", options->regime, "decode or prefill").one_of({"decode", "prefill"}).show_default();
  command.add_option("--seq", options->seq, "Tokens of the prompt; decode: tokens before the step")
      .range(1, 1 << 20)
      .show_default();
  command.add_option("--format", options->format, "json or dot (Graphviz)").one_of({"json", "dot"}).show_default();
  command.add_option("-o,--output", options->output, "Write to this file (default: stdout)");
  command.on_run([options] { dump(*options); });
}

}  // namespace

void add_capture_command(CLI::App& app) {
  Command command(app, "capture", "Captured graphs: check, bisect, dump, explain");
  add_check(command);
  add_bisect(command);
  add_dump(command);
  add_errors_subcommand(command, "explain", "capture explain");
  command.subcommand_is_optional();
  command.on_run([command] {
    if (!command.has_subcommand()) throw WrongUsage("capture", "name check, bisect, dump or explain");
  });
  command.footer("`tilewright capture SUBCOMMAND --help` says more.");
}

}  // namespace tilewright::cli

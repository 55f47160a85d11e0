#include "cli/port_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/bench_options.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "port/workflow.h"
#include "report/envelope.h"

namespace tilewright::cli {
namespace {

struct Options : BenchFlags {
  std::string output_dir;
  bool resume = false;
};

void run(const Options& options) {
  port::PortOptions request;
  request.measurement = measurement_options(options, "port");
  request.measurement.interrupted = &listen_for_interrupt();
  if (!options.dummy()) {
    const ModelName name = model_name_of(options, "port");
    request.model = name.name;
    request.model_from = name.from;
  }
  for (const std::string& step : port::skippable_steps())
    if (options.skips(step)) request.skip.push_back(step);
  request.resume = options.resume;
  request.output_dir = options.output_dir;

  request.bars = Progress::on_stderr(options.quiet);

  const Program program;
  Progress progress(Progress::on_stderr(options.quiet));
  const port::PortResult result = port::run_port(program, request, progress);
  progress.hide();
  print_report(result.report, options);
  for (const std::string& trouble : {result.trouble, result.write_error})
    if (!trouble.empty()) fmt::print(stderr, "tilewright: {}\n", trouble);
  if (!options.report_file.empty()) report::write_envelope(options.report_file, result.report);
  if (!result.page.empty()) fmt::print(stderr, "page: {}\n", result.page.string());
  if (!result.json.empty()) fmt::print(stderr, "data: {}\n", result.json.string());
  if (result.exit_code == 130 && !result.json.empty())
    fmt::print(stderr, "the same command with --resume keeps the steps that are done\n");
  if (result.exit_code != 0) throw ExitCode{result.exit_code};
}

}  // namespace

void add_port_command(CLI::App& app) {
  Command command(
      app, "port",
      "The whole way of a model in one command: pull, patch, smoke gate, arms, report.json and report.html");
  auto options = std::make_shared<Options>();
  add_bench_options(command, *options, port::skippable_steps());
  command.add_option("--output-dir", options->output_dir, "Folder of the report (default: ./tilewright-report-NAME)");
  command.add_flag("--resume", options->resume, "Keep what a run of the same command in that folder has finished");
  command.footer(
      "MODEL: a directory, ORG/NAME or ORG/NAME@REVISION; one that is not here is pulled into the hub's cache.\n"
      "Steps: resolve, pull, patch, smoke, arms, report. Neither MODEL nor the cache is changed by patching: what "
      "runs\n"
      "is an overlay of links, OUTPUT_DIR/model. A model that fails the smoke gate is not measured; a failed arm does\n"
      "not stop the others.\n"
      "Exit 0: all is well; 1: an error, the gate failed, or an arm failed or computes something else than eager;\n"
      "2: wrong usage; 130: interrupted, what was done until then is kept and reported.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli

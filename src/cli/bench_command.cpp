#include "cli/bench_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/bench_options.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "port/model_name.h"
#include "report/envelope.h"
#include "report/page/bench_page.h"
#include "report/trace_writer.h"

namespace tilewright::cli {
namespace {

struct Options : BenchFlags {
  std::string html, trace;
};

std::vector<report::TraceArm> trace_arms(const measure::BenchResult& result) {
  std::vector<report::TraceArm> out;
  for (const measure::CaseResult& of_case : result.cases)
    for (const measure::ArmResult& arm : of_case.arms) {
      if (arm.trace.empty()) continue;
      report::TraceArm& traced = out.emplace_back();
      traced.name = result.cases.size() == 1 ? arm.name : of_case.label + ": " + arm.name;
      for (const measure::TimelineEntry& e : arm.trace)
        traced.events.push_back({.op = e.op,
                                 .path = e.path,
                                 .kernel = e.kernel,
                                 .lane = e.on_host ? "host" : "device",
                                 .stream = e.stream,
                                 .submitted = e.submitted_s,
                                 .started = e.start_s,
                                 .finished = e.end_s,
                                 .grid = e.grid,
                                 .bytes = e.bytes,
                                 .flops = e.flops,
                                 .replay = e.replay});
    }
  return out;
}

// The measurement is shown already: that one file cannot be written does not keep the others from it. False if any
// could not.
bool write_files(const Options& options, const Json& envelope, const measure::BenchResult& result) {
  bool good = true;
  const auto write = [&](const std::string& file, auto&& action) {
    if (file.empty()) return;
    try {
      action();
    } catch (const Error& error) {
      fmt::print(stderr, "tilewright: {}\n", error.what());
      good = false;
    }
  };
  write(options.report_file, [&] { report::write_envelope(options.report_file, envelope); });
  write(options.html, [&] { report::write_page(options.html, report::bench_page(envelope)); });
  write(options.trace, [&] { report::write_trace(options.trace, trace_arms(result)); });
  return good;
}

void run(const Options& options) {
  port::MeasurementOptions measured = measurement_options(options, "bench");
  if (!options.dummy()) {
    measured.bench.model.model = model_directory(options, "bench");
    measured.bench.model.name = port::model_name(measured.bench.model.model);
  }
  if (!options.html.empty()) require_folder_of(options.html, "--html");
  if (!options.trace.empty()) require_folder_of(options.trace, "--trace");
  measured.bench.keep_trace = !options.trace.empty();
  measured.interrupted = &listen_for_interrupt();

  const Program program;
  Progress progress(Progress::on_stderr(options.quiet));
  port::Measurement measurement(program, measured, progress);
  progress.begin("load");
  measurement.load();  // what is wrong here is an error like any other: there is nothing to report
  const std::string no_gate = options.skips("smoke") ? "--skip smoke" : measurement.no_gate();
  if (!no_gate.empty()) measurement.skip_gate(no_gate);
  std::vector<port::StepRecord> records;
  port::run_steps({{.name = "smoke", .skip = no_gate, .run = [&] { return measurement.run_gate(); }},
                   {.name = "arms", .run = [&] { return measurement.run_arms(); }}},
                  progress, records);
  const Json result = measurement.result_json();
  const Json envelope =
      report::envelope({.kind = "bench",
                        .seeds = {{"prompts", measured.bench.seed}, {"weights", measured.bench.model.load.seed}},
                        .result = result});
  progress.hide();
  print_report(envelope, options);
  if (const std::string trouble = port::trouble_of(result); !trouble.empty())
    fmt::print(stderr, "tilewright: {}\n", trouble);
  const bool written = write_files(options, envelope, measurement.result());
  const int code = port::exit_code_of(result);
  if (code != 0 || !written) throw ExitCode{code != 0 ? code : 1};
}

}  // namespace

void add_bench_command(CLI::App& app) {
  Command command(app, "bench", "Measure a model in several arms, in one process: eager, graph, fused, fused+graph");
  auto options = std::make_shared<Options>();
  add_bench_options(command, *options, {"smoke", "limits"});
  command.add_option("--html", options->html, "Write the report as a page to this file");
  command.add_option("--trace", options->trace, "Write a trace of one iteration of each arm, for Perfetto");
  command.footer(
      "The smoke gate comes first, as in `port`: a model that is not right is not measured.\n"
      "Exit 0: measured; 1: the gate failed, or an arm failed or computes something else than eager; 130: "
      "interrupted,\n"
      "what was measured until then is shown.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli

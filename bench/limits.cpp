// Prints what the program reaches beside the limits of this machine, measured in the same run. Exit 1 if a limit is
// wrong (some work is faster than it) or the run fails; bars that are not met are printed, not punished.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "limits/first_token.h"
#include "limits/limits_run.h"
#include "report/envelope.h"

namespace {

using namespace tilewright;

int run(const bench::LimitsOptions& options, const std::string& report_file) {
  bench::LimitsRun run(options);
  run.print_header();
  bench::add_machine_rows(run);
  bench::add_launch_rows(run);
  bench::add_linear_rows(run);
  bench::add_small_rows(run);
  bench::add_eager_rows(run);
  bench::add_startup_rows(run);
  bench::add_tokenizer_rows(run);
  if (!report_file.empty())
    report::write_report(report_file, {.kind = "limits",
                                       .result = {{"isa", std::string(isa_name(options.isa))},
                                                  {"threads", options.threads},
                                                  {"rounds", options.rounds},
                                                  {"disturbed_rounds", run.disturbed()},
                                                  {"rows", run.rows_json()},
                                                  {"notes", run.notes_json()}}});
  if (run.disturbed())
    fmt::print("{} rounds count although other processes took a processor away: run again on a quiet machine\n",
               run.disturbed());
  if (run.unmet()) fmt::print("{} bars are not met\n", run.unmet());
  if (run.exit_code()) fmt::print(stderr, "some work is faster than its limit: the limit is measured wrongly\n");
  return run.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  bench::LimitsOptions options;
  std::string report_file;
  CLI::App app("What is reached beside the machine's limits");
  app.add_option("--threads", options.threads, "threads")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--rounds", options.rounds, "paired rounds of work and limit; 20 and more for a claim")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--only", options.only, "only rows whose name contains this");
  app.add_option("--tokenizer", options.tokenizer, "tokenizer.json of Qwen3");
  std::string first_token_directory;
  app.add_option("--first-token", first_token_directory, "what this program runs as its own child")->group("");
  app.add_option("--report-file", report_file, "write the rows as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!first_token_directory.empty()) return bench::first_token(first_token_directory, options.threads);
    options.isa = active_isa();
    return run(options, report_file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// Prints what the program reaches beside the limits of this machine, measured in the same run. Exit 1 if a limit is
// wrong (some work is faster than it) or the run fails; bars that are not met are printed, not punished.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "limits/first_token.h"
#include "limits/row_groups.h"
#include "support/limits_options.h"

namespace {

using namespace tilewright;

int run(const bench::LimitsOptions& options, const std::string& report_file, const std::string& tokenizer) {
  bench::LimitsRun run(options);
  run.print_header();
  bench::add_machine_rows(run);
  bench::add_launch_rows(run);
  bench::add_replay_rows(run);
  bench::add_linear_rows(run);
  bench::add_small_rows(run);
  bench::add_eager_rows(run);
  bench::add_startup_rows(run);
  bench::add_tokenizer_rows(run, tokenizer);
  return run.conclude("limits", report_file, false);
}

}  // namespace

int main(int argc, char** argv) {
  bench::LimitsOptions options;
  std::string report_file, tokenizer;
  CLI::App app("What is reached beside the machine's limits");
  bench::add_limits_options(app, options, report_file);
  app.add_option("--tokenizer", tokenizer, "tokenizer.json of Qwen3");
  std::string first_token_directory;
  app.add_option("--first-token", first_token_directory, "what this program runs as its own child")->group("");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!first_token_directory.empty()) return bench::first_token(first_token_directory, options.threads);
    return run(options, report_file, tokenizer);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// The arms eager, graph, fused and fused+graph beside each other and beside what bounds them, taking turns in one run.
// Exit 1 if a limit is wrong (some work is faster than it) or the run fails; bars that are not met are printed, not
// punished.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "arms/row_groups.h"
#include "support/limits_options.h"
#include "support/temporary_folder.h"

namespace {

using namespace tilewright;

int run(const bench::LimitsOptions& limits, const bench::ArmsOptions& options, const std::string& report_file) {
  bench::LimitsRun run(limits);
  run.print_header();
  bench::ArmsBench bench{run, options};
  bench::add_bard_rows(bench);
  bench::add_replay_rows(bench);
  bench::add_decode_rows(bench);
  return run.conclude("arms", report_file, true);
}

}  // namespace

int main(int argc, char** argv) {
  bench::LimitsOptions limits;
  bench::ArmsOptions options;
  std::string report_file;
  CLI::App app("The arms beside each other and beside what bounds them");
  bench::add_limits_options(app, limits, report_file);
  app.add_option("--arms", options.arms, "arms, separated by commas")->capture_default_str()->delimiter(',');
  app.add_option("--fuse", options.fuse, "switches of the fused arms")->capture_default_str();
  app.add_option("--bard", options.bard, "the directory assets/bard")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // Neither what an earlier run left in the user's cache counts, nor does anything of this one stay there.
  const bench::TemporaryFolder cache;
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  try {
    return run(limits, options, report_file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// Kernels beside their opponents: small ops, versions written by hand, torch, and the limits of this machine, taking
// turns in one run. Exit 1 if a limit is wrong (some work is faster than it) or the run fails; bars that are not met
// are printed, not punished.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "fused/row_groups.h"
#include "support/limits_options.h"
#include "support/temporary_folder.h"

namespace {

using namespace tilewright;

int run(const bench::LimitsOptions& limits, const bench::FusedOptions& options, const std::string& report_file) {
  bench::LimitsRun run(limits);
  run.print_header();
  bench::FusedBench bench(run, options);
  bench::add_decomposition_rows(bench);
  bench::add_memory_bound_rows(bench);
  bench::add_attention_rows(bench);
  bench::add_model_rows(bench);
  bench::add_compile_rows(bench);
  bench::add_torch_rows(bench);
  return run.conclude("fused", report_file, true);
}

}  // namespace

int main(int argc, char** argv) {
  bench::LimitsOptions limits;
  bench::FusedOptions options;
  std::string report_file;
  CLI::App app("Kernels beside small ops, versions written by hand, torch and the machine's limits");
  bench::add_limits_options(app, limits, report_file);
  app.add_option("--fuse", options.fuse, "switches of the whole passes")->capture_default_str();
  app.add_option("--auto", options.automatic, "switches that are held against none in every regime")
      ->capture_default_str();
  app.add_option("--shapes", options.shapes, "of the whole passes: bard, 0.6B, 1.7B")->capture_default_str();
  app.add_option("--bard", options.bard, "the directory assets/bard")->capture_default_str();
  app.add_option("--python", options.python, "python with torch; without one, torch is left out")->envname("PYTHON");
  app.add_option("--torch-script", options.torch_script, "torch's driver")->capture_default_str();
  app.add_option("--torch-modes", options.torch_modes, "eager, compile, or modes that torch.compile knows")
      ->capture_default_str();
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

// The decode loop of `tilewright bench` and nothing around it: what tools/bench_overhead.sh holds that against, and a
// small program to profile. A run is a prompt and then `--gen` tokens, each read by the host.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "support/arm_run.h"

namespace {

using namespace tilewright;

struct Options {
  std::string model = "assets/bard", arm = "eager", fuse = "all";
  int threads = 1, prompt = 8, gen = 32, runs = 1;
};

int run(const Options& options) {
  const Program program;
  const engine::SessionOptions session = bench::arm_options(options.model, "host", options.threads);
  bench::ArmRun arm(bench::load_for_arms(program, session), session, measure::parse_arms({&options.arm, 1})[0],
                    options.fuse, options.prompt + options.gen);
  for (int i = 0; i < options.runs; ++i) {
    const double prompt = arm.prefill_seconds(options.prompt);
    const double seconds = arm.decode_seconds(options.gen, options.prompt);
    fmt::print("{} {}: prompt {:.3f} ms, {:.1f} tok/s\n", options.model, options.arm, 1e3 * prompt,
               options.gen / seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A decode loop");
  app.add_option("model", options.model, "a model's directory, or a published shape")->capture_default_str();
  app.add_option("--arm", options.arm, "eager, graph, fused, fused+graph")->capture_default_str();
  app.add_option("--fuse", options.fuse, "switches of fused arms")->capture_default_str();
  app.add_option("--threads", options.threads, "threads")->capture_default_str();
  app.add_option("--prompt", options.prompt, "positions before the first token")->capture_default_str();
  app.add_option("--gen", options.gen, "tokens of a run")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--runs", options.runs, "runs")->capture_default_str()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

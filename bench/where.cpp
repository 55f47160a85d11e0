// Where the time of a forward pass goes: an event before every launch, so that the parts sum to the whole and a bubble
// is counted with the launch before it. `where --regime decode --context 4096 --by path`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "base/cpu.h"
#include "base/error.h"
#include "measure/statistics.h"
#include "report/table.h"
#include "support/launch_timer.h"
#include "support/model_run.h"

namespace {

using namespace tilewright;

struct Options {
  std::string shape = "Qwen3-0.6B", regime = "decode", by = "op", device = "host", dtype = "bf16", fuse = "none";
  int threads = 2, tokens = 128, context = 64, iterations = 8, rows = 40;
};

int run(const Options& options) {
  const Program program;
  const bool decode = options.regime == "decode";
  const std::int64_t length = decode ? options.context + 1 : options.tokens;
  bench::ModelRun run(program, options.device, options.threads, options.shape, length,
                      options.dtype == "f32" ? DType::f32 : DType::bf16);
  if (decode) run.fill_cache();
  const ops::Switches switches = ops::Switches::parse(run.operators(), options.fuse);
  ops::Context plain(run.operators(), run.stream(), switches);
  const auto pass = [&](ops::Context& context) {
    return decode ? run.decode_seconds(context, 1, options.context) : run.prefill_seconds(context, options.tokens);
  };
  bench::LaunchTimer timer(run.stream(),
                           options.by == "path" ? bench::LaunchTimer::By::path : bench::LaunchTimer::By::op);
  ops::Context watched(run.operators(), run.stream(), switches, &timer);
  std::vector<double> whole, timed;
  pass(plain);
  pass(watched);
  timer.clear();
  for (int i = 0; i < options.iterations; ++i) {
    whole.push_back(pass(plain));
    timed.push_back(pass(watched));
    timer.finish_pass();
  }
  fmt::print(
      "{} {} {}, {}, {} threads, {}: {:.3f} ms without events, {:.3f} ms with them, {} launches\n", options.shape,
      options.dtype,
      decode ? fmt::format("decode at context {}", options.context) : fmt::format("prefill of {}", options.tokens),
      options.device, run.device().threads(), isa_name(active_isa()), 1e3 * measure::median(whole),
      1e3 * measure::median(timed), timer.launches_per_pass());
  const double limit_flops = run.work.prefill_flops(options.tokens),
               limit_bytes = run.work.decode_bytes(options.context);
  if (decode)
    fmt::print("{:.1f} tok/s, {:.1f} GB/s of weights and cache\n", 1 / measure::median(whole),
               limit_bytes / measure::median(whole) / 1e9);
  else
    fmt::print("{:.1f} tok/s, {:.1f} GFLOP/s\n", options.tokens / measure::median(whole),
               limit_flops / measure::median(whole) / 1e9);
  fmt::print("{}", timer.table(options.rows));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Where the time of a forward pass goes");
  app.add_option("--shape", options.shape, "published shape")->capture_default_str();
  app.add_option("--regime", options.regime, "decode or prefill")
      ->capture_default_str()
      ->check(CLI::IsMember({"decode", "prefill"}));
  app.add_option("--by", options.by, "op, or path: a row for each module and op")
      ->capture_default_str()
      ->check(CLI::IsMember({"op", "path"}));
  app.add_option("--fuse", options.fuse, "composite ops that run kernels")->capture_default_str();
  app.add_option("--dtype", options.dtype, "bf16 or f32")->capture_default_str()->check(CLI::IsMember({"bf16", "f32"}));
  app.add_option("--device", options.device, "device; null shows what the host alone takes")->capture_default_str();
  app.add_option("--threads", options.threads, "threads")->capture_default_str();
  app.add_option("--tokens", options.tokens, "prefill: prompt length")->capture_default_str();
  app.add_option("--context", options.context, "decode: positions before the token")->capture_default_str();
  app.add_option("--iterations", options.iterations, "passes")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rows", options.rows, "rows printed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

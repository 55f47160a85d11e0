// The flags that `bench` and `port` share: what is measured, and how it is shown.
#pragma once

#include <string>
#include <vector>

#include "cli/model_options.h"
#include "port/measurement.h"

namespace tilewright::cli {

struct BenchFlags : ModelOptions {
  BenchFlags() { fuse = "all"; }
  std::string regime = "auto", seq = "16", gen = "128", batch = "1", arms = "eager,graph,fused,fused+graph";
  std::int64_t prompt_len = 8;
  int warmup = 2, iters = 6;
  std::uint64_t seed = 1;
  std::vector<std::string> goldens;
  std::string skip, format = "table";
  bool quiet = false;

  bool skips(const std::string& step) const;
};

// `skippable`: the steps that --skip takes.
void add_bench_options(CLI::App& command, BenchFlags& flags, const std::vector<std::string>& skippable);

// What they ask for, but for the model's directory. Throws WrongUsage for flags that contradict each other, and Error
// as measure does for an arm that does not exist.
port::MeasurementOptions measurement_options(const BenchFlags& flags, const std::string& command);

// A benchmark's report on stdout, as --format says: tables that fit 100 columns, coloured on a terminal, or JSON.
void print_report(const Json& envelope, const BenchFlags& flags);

}  // namespace tilewright::cli

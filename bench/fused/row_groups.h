// The groups of rows of bench/fused, named after their files, and what they share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/program.h"
#include "fused/op_work.h"
#include "support/limits_run.h"

namespace tilewright::bench {

struct FusedOptions {
  std::string fuse = "all";        // switches of the whole passes
  std::string automatic = "auto";  // the switch text that is held against "none"
  std::string shapes = "bard,0.6B,1.7B", bard = "assets/bard";
  std::string python, torch_script = "bench/peers/fused_torch.py", torch_modes = "eager,compile,max-autotune";
};

// What the groups work on: the operators and host devices, one for each number of threads.
class FusedBench {
 public:
  FusedBench(LimitsRun& run, FusedOptions options) : run(run), options(std::move(options)) {}
  runtime::Stream& stream(int threads) {
    auto& device = devices_[threads];
    if (!device) device = program.devices.open("host", {.threads = threads});
    return device->default_stream();
  }
  runtime::Stream& stream() { return stream(run.options().threads); }

  LimitsRun& run;
  const FusedOptions options;
  const Program program;

 private:
  std::map<int, std::shared_ptr<runtime::Device>> devices_;
};

void add_decomposition_rows(FusedBench& bench);
void add_memory_bound_rows(FusedBench& bench);
void add_attention_rows(FusedBench& bench);
void add_compile_rows(FusedBench& bench);
void add_model_rows(FusedBench& bench);
void add_torch_rows(FusedBench& bench);

}  // namespace tilewright::bench

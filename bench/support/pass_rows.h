// Whole passes of a published shape with random weights, as rows: prefill beside the peak, decode beside the bandwidth.
// What runs is said by the switches; the names of the rows, by their title.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program.h"
#include "support/limits_run.h"

namespace tilewright::bench {

struct PassRows {
  std::string title;        // "eager", "fused"
  std::string fuse;         // switches
  std::string name, shape;  // "0.6B", "Qwen3-0.6B"
  int decode_steps = 4;     // a sample is some 100 ms
  struct Prefill {
    int tokens;
    std::optional<double> bar_f32, bar_dot;  // beside the f32 peak where there are no dot products
  };
  std::vector<Prefill> prefill;
  struct Decode {
    int context;
    std::optional<double> bar;
    bool where = false;  // a note: where the time goes
  };
  std::vector<Decode> decode;
};

// Returns whether any was wanted.
bool add_pass_rows(LimitsRun& run, const Program& program, const PassRows& rows);

}  // namespace tilewright::bench

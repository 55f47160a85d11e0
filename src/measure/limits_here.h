// The limits of this machine, read between the rounds of the run that is compared with them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/bench_result.h"
#include "target/probes.h"
#include "tensor/dtype.h"

namespace tilewright::measure {

// The least seconds that a piece of work needs, and what sets them.
struct Limit {
  double seconds = 0;
  std::string kind;  // "bf16 peak", "f32 peak", "read bandwidth"
};
// f16 and f32 run at the f32 peak; bf16 at that of dot products where the machine has them.
Limit limit_of(double flops, double bytes, DType dtype, const BenchLimits& limits);

class LimitsHere {
 public:
  // Makes the buffers of the probes: some hundred megabytes beyond the last cache.
  explicit LimitsHere(int threads);

  // One reading of each, some 50 ms; returns when the probes' threads sleep again. Copy bandwidth and the barrier are
  // read only the first time.
  BenchLimits read();
  // Medians of the readings so far.
  BenchLimits median() const;

 private:
  target::SpinTeam team_;
  target::PeakProbe peak_;
  target::BandwidthProbe bandwidth_;
  std::vector<BenchLimits> readings_;
};

}  // namespace tilewright::measure

// The limits of this machine, read between the rounds of the run that is compared with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/bench_result.h"
#include "target/probes.h"
#include "tensor/dtype.h"

namespace tilewright::measure {

// The least seconds that a piece of work needs, and what sets them.
struct Limit {
  double seconds = 0;
  std::string kind;  // "bf16 peak", "f32 peak", "read bandwidth", "cache read bandwidth"
};
// f16 and f32 run at the f32 peak; bf16 at that of dot products where the machine has them. Bytes come from the last
// cache if the reading has its bandwidth.
Limit limit_of(double flops, double bytes, DType dtype, const BenchLimits& limits);

class LimitsHere {
 public:
  // Makes the buffers of the probes: some hundred megabytes beyond the last cache.
  explicit LimitsHere(int threads);

  // One reading of each, some 0.1 s; returns when the probes' threads sleep again. A limit is what the machine can do:
  // the best of two samples or more, until one during which no processor was taken away. Copy bandwidth and the barrier
  // are read only the first time. `working_set`: bytes that the work reads again and again; where they fit well into
  // the last cache, its bandwidth is read, too.
  BenchLimits read(double working_set);
  // Medians of the readings so far.
  BenchLimits median() const;

 private:
  double best(const std::function<double()>& sample) const;

  target::SpinTeam team_;
  target::PeakProbe peak_;
  target::BandwidthProbe bandwidth_;
  std::vector<BenchLimits> readings_;
};

}  // namespace tilewright::measure

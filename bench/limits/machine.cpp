// The probes themselves: does the peak probe reach what lanes and clock allow?
#include <cmath>

#include "limits/row_groups.h"

namespace tilewright::bench {

void add_machine_rows(LimitsRun& run) {
  const target::PeakProbe peak(run.team(), run.options().isa);
  const double threads = run.options().threads, lanes = peak.f32_lanes();
  // Multiply-adds a cycle: a whole number of pipelines, the nearest to what was measured.
  const auto pipelines = [&](double flops, double flops_per_step, double clock) {
    return std::max(1.0, std::round(flops / (threads * flops_per_step * clock)));
  };
  run.record({.what = "machine clock", .unit = "GHz", .unit_size = 1e9}, run.options().rounds,
             [&] { return peak.clock_hz(); });
  run.record({.what = "machine f32 FMA peak / (lanes x pipelines x clock)", .unit = "", .bar = 0.95},
             run.options().rounds, [&] {
               const double before = peak.clock_hz(), flops = peak.f32_fma(), clock = (before + peak.clock_hz()) / 2;
               return flops / (threads * 2 * lanes * clock * pipelines(flops, 2 * lanes, clock));
             });
  run.record({.what = "machine f32 FMA peak", .unit = "GFLOP/s", .unit_size = 1e9}, run.options().rounds,
             [&] { return peak.f32_fma(); });
  if (peak.has_bf16_dot()) {
    run.record({.what = "machine bf16 dot peak / (lanes x pipelines x clock)", .unit = "", .bar = 0.95},
               run.options().rounds, [&] {
                 const double before = peak.clock_hz(), flops = peak.bf16_dot(), clock = (before + peak.clock_hz()) / 2;
                 return flops / (threads * 4 * lanes * clock * pipelines(flops, 4 * lanes, clock));
               });
    run.record({.what = "machine bf16 dot peak", .unit = "GFLOP/s", .unit_size = 1e9}, run.options().rounds,
               [&] { return peak.bf16_dot(); });
  }
  if (run.wants("machine read")) {
    target::BandwidthProbe read(run.team(), run.options().isa);
    run.record({.what = "machine read bandwidth", .unit = "GB/s", .unit_size = 1e9}, run.options().rounds,
               [&] { return read.sample(); });
    const char* names[] = {"4 KB pages, 1 stream", "4 KB pages, 2 streams", "2 MB pages, 1 stream",
                           "2 MB pages, 2 streams"};
    for (std::size_t variant = 0; variant < target::BandwidthProbe::kVariants; ++variant)
      run.record({.what = std::string("machine read, ") + names[variant], .unit = "GB/s", .unit_size = 1e9},
                 run.options().rounds, [&] {
                   read.sample();
                   return read.last()[variant];
                 });
  }
  if (run.wants("machine copy bandwidth")) {
    target::CopyProbe copy(run.team(), run.options().isa);
    run.record({.what = "machine copy bandwidth", .unit = "GB/s", .unit_size = 1e9}, run.options().rounds,
               [&] { return copy.sample(); });
  }
  run.record({.what = "machine fork and join", .unit = "ns", .unit_size = 1e-9}, run.options().rounds,
             [&] { return target::fork_join_seconds(run.team()); });
}

}  // namespace tilewright::bench

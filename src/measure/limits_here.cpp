#include "measure/limits_here.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/cpu.h"
#include "measure/statistics.h"
#include "target/limits.h"

namespace tilewright::measure {
namespace {

constexpr auto kSpin = std::chrono::milliseconds(15);  // longer than the probes' threads spin
constexpr int kFewest = 2, kMost = 6;
constexpr double kCacheShare = 0.5;  // of the last cache, which others use, too

// How often a thread of this process lost its processor to somebody else.
long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

Limit limit_of(double flops, double bytes, DType dtype, const BenchLimits& limits) {
  const bool dot = dtype == DType::bf16 && limits.bf16_flops > 0;
  const double compute = target::limit_seconds(flops, 0, dot ? limits.bf16_flops : limits.f32_flops, 1);
  const bool cached = limits.cache_bytes > limits.read_bytes;
  const double memory = target::limit_seconds(0, bytes, 1, cached ? limits.cache_bytes : limits.read_bytes);
  if (memory >= compute) return {memory, cached ? "cache read bandwidth" : "read bandwidth"};
  return {compute, dot ? "bf16 peak" : "f32 peak"};
}

LimitsHere::LimitsHere(int threads) : team_(threads), peak_(team_, active_isa()), bandwidth_(team_, active_isa()) {}

double LimitsHere::best(const std::function<double()>& sample) const {
  double out = 0;
  for (int i = 0; i < kMost; ++i) {
    const long taken = preemptions();
    out = std::max(out, sample());
    if (i + 1 >= kFewest && preemptions() == taken) break;
  }
  return out;
}

BenchLimits LimitsHere::read(double working_set) {
  BenchLimits out;
  out.f32_flops = best([&] { return peak_.f32_fma(); });
  out.bf16_flops = peak_.has_bf16_dot() ? best([&] { return peak_.bf16_dot(); }) : 0;
  out.read_bytes = best([&] { return bandwidth_.sample(); });
  if (working_set > 0 && working_set <= kCacheShare * static_cast<double>(cpu_info().l3_bytes))
    out.cache_bytes =
        target::cache_read_bandwidth(team_, active_isa(), static_cast<std::size_t>(working_set / team_.size()));
  if (readings_.empty()) {
    out.copy_bytes = target::CopyProbe(team_, active_isa()).sample();
    out.barrier_s = target::fork_join_seconds(team_);
  } else {
    out.copy_bytes = readings_[0].copy_bytes;
    out.barrier_s = readings_[0].barrier_s;
  }
  readings_.push_back(out);
  std::this_thread::sleep_for(kSpin);
  return out;
}

BenchLimits LimitsHere::median() const {
  const auto of = [&](double BenchLimits::*field) {
    std::vector<double> values;
    for (const BenchLimits& reading : readings_) values.push_back(reading.*field);
    return values.empty() ? 0 : measure::median(values);
  };
  return {of(&BenchLimits::f32_flops), of(&BenchLimits::bf16_flops), of(&BenchLimits::read_bytes),
          of(&BenchLimits::copy_bytes), of(&BenchLimits::barrier_s)};
}

}  // namespace tilewright::measure

#include "measure/limits_here.h"

#include <chrono>
#include <thread>

#include "base/cpu.h"
#include "measure/statistics.h"
#include "target/limits.h"

namespace tilewright::measure {
namespace {

constexpr auto kSpin = std::chrono::milliseconds(15);  // longer than the probes' threads spin

}  // namespace

Limit limit_of(double flops, double bytes, DType dtype, const BenchLimits& limits) {
  const bool dot = dtype == DType::bf16 && limits.bf16_flops > 0;
  const double compute = target::limit_seconds(flops, 0, dot ? limits.bf16_flops : limits.f32_flops, 1);
  const double memory = target::limit_seconds(0, bytes, 1, limits.read_bytes);
  if (memory >= compute) return {memory, "read bandwidth"};
  return {compute, dot ? "bf16 peak" : "f32 peak"};
}

LimitsHere::LimitsHere(int threads) : team_(threads), peak_(team_, active_isa()), bandwidth_(team_, active_isa()) {}

BenchLimits LimitsHere::read() {
  BenchLimits out;
  out.f32_flops = peak_.f32_fma();
  out.bf16_flops = peak_.bf16_dot();
  out.read_bytes = bandwidth_.sample();
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

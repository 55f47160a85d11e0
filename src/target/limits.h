// The limits of this machine, measured, and the time they leave to a piece of work.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/cpu.h"
#include "base/json.h"

namespace tilewright::target {

struct MachineLimits {
  std::string cpu;  // "AMD EPYC"
  IsaLevel isa = IsaLevel::generic;
  int threads = 0;
  double clock_hz = 0;
  double f32_flops = 0;  // FMA, all threads, for the instruction set `isa`
  double fma_per_cycle =
      0;  // f32_flops / (threads · 2 · lanes · clock): near 1 or 2, or the probe did not reach its limit
  double bf16_dot_flops = 0;  // 0: no such instruction
  double read_bytes = 0;      // per second, beyond the last cache
  double copy_bytes = 0;      // read plus written per second
  double l1_bytes = 0, l2_bytes = 0,
         l3_bytes = 0;  // read per second by all threads; 0 where the cache's size is unknown
  double fork_join_seconds = 0;

  // The least time for `bytes` of memory traffic and `flops` in f32, or in bf16 dot products where the machine has
  // them.
  double f32_seconds(double flops, double bytes) const;
  double bf16_seconds(double flops, double bytes) const;
  bool operator==(const MachineLimits&) const = default;
};

// max(flops / peak, bytes / bandwidth); a rate of zero counts only if there is something to do at it (then: infinite).
double limit_seconds(double flops, double bytes, double peak, double bandwidth);

enum class Effort { quick, thorough };  // about 0.3 s, about 3 s

MachineLimits measure_limits(int threads, Effort effort, IsaLevel isa = active_isa());

Json limits_to_json(const MachineLimits& limits);
MachineLimits limits_from_json(const Json& json, const std::string& where);  // throws Error

// The stored copy, limits-<cpu>-<isa>-<threads>.json in the user's cache folder (empty if there is none). It is
// for `doctor` and the choice of tiles; whatever is printed as a share of a limit measures anew.
std::filesystem::path stored_limits_path(const std::string& cpu, IsaLevel isa, int threads);
void store_limits(const MachineLimits& limits);  // throws Error if the file cannot be written
// Nothing if there is no stored copy, or it cannot be read.
std::optional<MachineLimits> load_stored_limits(int threads, IsaLevel isa = active_isa());

}  // namespace tilewright::target

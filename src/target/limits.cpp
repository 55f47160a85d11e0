#include "target/limits.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <ostream>
#include <vector>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "target/probes.h"

namespace tilewright::target {
namespace {

constexpr const char* kSchema = "tilewright-limits-1";

double median_of(int samples, const std::function<double()>& sample) {
  std::vector<double> values(static_cast<std::size_t>(samples));
  for (double& value : values) value = sample();
  std::nth_element(values.begin(), values.begin() + samples / 2, values.end());
  return values[static_cast<std::size_t>(samples) / 2];
}

struct LimitField {
  const char* name;
  double MachineLimits::*value;
};
constexpr LimitField kLimitFields[] = {
    {"clock_hz", &MachineLimits::clock_hz},           {"f32_flops", &MachineLimits::f32_flops},
    {"fma_per_cycle", &MachineLimits::fma_per_cycle}, {"bf16_dot_flops", &MachineLimits::bf16_dot_flops},
    {"read_bytes", &MachineLimits::read_bytes},       {"copy_bytes", &MachineLimits::copy_bytes},
    {"l1_bytes", &MachineLimits::l1_bytes},           {"l2_bytes", &MachineLimits::l2_bytes},
    {"l3_bytes", &MachineLimits::l3_bytes},           {"fork_join_seconds", &MachineLimits::fork_join_seconds},
};

std::string as_file_name(const std::string& text) {
  std::string name;
  for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name.empty() ? "unknown" : name;
}

}  // namespace

double limit_seconds(double flops, double bytes, double peak, double bandwidth) {
  const auto time = [](double amount, double rate) {
    return amount <= 0 ? 0.0 : rate > 0 ? amount / rate : std::numeric_limits<double>::infinity();
  };
  return std::max(time(flops, peak), time(bytes, bandwidth));
}

double MachineLimits::f32_seconds(double flops, double bytes) const {
  return limit_seconds(flops, bytes, f32_flops, read_bytes);
}
double MachineLimits::bf16_seconds(double flops, double bytes) const {
  return limit_seconds(flops, bytes, bf16_dot_flops > 0 ? bf16_dot_flops : f32_flops, read_bytes);
}

MachineLimits measure_limits(int threads, Effort effort, IsaLevel isa) {
  const CpuInfo info = cpu_info();
  MachineLimits limits{.cpu = info.model, .isa = isa, .threads = threads};
  const int samples = effort == Effort::quick ? 3 : 21;
  SpinTeam team(threads);
  const PeakProbe peak(team, isa);
  peak.f32_fma();  // wakes the clock up
  limits.clock_hz = median_of(samples, [&] { return peak.clock_hz(); });
  limits.f32_flops = median_of(samples, [&] { return peak.f32_fma(); });
  if (limits.clock_hz > 0)
    limits.fma_per_cycle = limits.f32_flops / (2.0 * threads * peak.f32_lanes() * limits.clock_hz);
  if (peak.has_bf16_dot()) limits.bf16_dot_flops = median_of(samples, [&] { return peak.bf16_dot(); });
  const std::size_t bytes = beyond_caches(effort == Effort::quick ? 3 : 8);
  BandwidthProbe read(team, isa, bytes);
  limits.read_bytes = median_of(samples, [&] { return read.sample(); });
  CopyProbe copy(team, isa, bytes);
  limits.copy_bytes = median_of(samples, [&] { return copy.sample(); });
  const auto cache = [&](long bytes) {
    return bytes > 0 ? cache_read_bandwidth(team, isa, static_cast<std::size_t>(bytes)) : 0;
  };
  limits.l1_bytes = cache(info.l1d_bytes / 2);
  limits.l2_bytes = cache(info.l2_bytes / 2);
  limits.l3_bytes = cache(info.l3_bytes / 2 / threads);
  limits.fork_join_seconds = median_of(samples, [&] { return fork_join_seconds(team); });
  return limits;
}

Json limits_to_json(const MachineLimits& limits) {
  Json json = {{"schema", kSchema},
               {"cpu", limits.cpu},
               {"isa", std::string(isa_name(limits.isa))},
               {"threads", limits.threads}};
  for (const LimitField& field : kLimitFields) json[field.name] = limits.*field.value;
  return json;
}

MachineLimits limits_from_json(const Json& json, const std::string& where) {
  const auto schema = required<std::string>(json, "schema", where);
  if (schema != kSchema)
    fail({.what = "not a file of measured limits",
          .where = where,
          .expected = kSchema,
          .found = schema,
          .fix = "delete it; it is measured again"});
  MachineLimits limits{.cpu = required<std::string>(json, "cpu", where),
                       .isa = isa_from_name(required<std::string>(json, "isa", where)),
                       .threads = static_cast<int>(required<std::int64_t>(json, "threads", where))};
  for (const LimitField& field : kLimitFields) limits.*field.value = required<double>(json, field.name, where);
  return limits;
}

std::filesystem::path stored_limits_path(const std::string& cpu, IsaLevel isa, int threads) {
  const std::filesystem::path cache = user_cache_folder();
  if (cache.empty()) return cache;
  return cache /
         ("limits-" + as_file_name(cpu) + "-" + std::string(isa_name(isa)) + "-" + std::to_string(threads) + ".json");
}

void store_limits(const MachineLimits& limits) {
  const std::filesystem::path path = stored_limits_path(limits.cpu, limits.isa, limits.threads);
  if (path.empty())
    fail({.what = "there is no cache folder for the measured limits",
          .where = "XDG_CACHE_HOME and HOME",
          .expected = "an absolute path in one of them",
          .found = "neither",
          .fix = "set XDG_CACHE_HOME to a folder that can be written"});
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    fail({.what = "cannot make the cache folder",
          .where = path.parent_path().string(),
          .found = error.message(),
          .fix = "set XDG_CACHE_HOME to a folder that can be written"});
  write_file_atomically(path, [&](std::ostream& out) { out << limits_to_json(limits).dump(2) << "\n"; });
}

std::optional<MachineLimits> load_stored_limits(int threads, IsaLevel isa) {
  const std::string cpu = cpu_info().model;
  const std::filesystem::path path = stored_limits_path(cpu, isa, threads);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  try {
    MachineLimits limits = limits_from_json(read_json_file(path), path.string());
    if (limits.cpu != cpu || limits.isa != isa || limits.threads != threads) return std::nullopt;
    return limits;
  } catch (const Error&) {
    return std::nullopt;  // an old or damaged copy is as good as none
  }
}

}  // namespace tilewright::target

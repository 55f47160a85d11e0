#include "cli/doctor_command.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <simdjson.h>
#include <utf8proc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "ops/core/registry.h"
#include "report/table.h"
#include "runtime/device.h"
#include "target/limits.h"

namespace tilewright {
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);
}

namespace tilewright::cli {
namespace {

struct Options {
  bool measure = false;
  int threads = 0;
  std::string format = "text";
};

std::size_t meminfo_bytes(const std::string& wanted) {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string key;
    std::size_t kib = 0;
    if (words >> key >> kib && key == wanted + ":") return kib * 1024;
  }
  return 0;
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string pcre2_version() {
  char text[64] = {};
  pcre2_config(PCRE2_CONFIG_VERSION, text);
  return text;
}

Json libraries() {
  return {{"pcre2", pcre2_version()},
          {"utf8proc", utf8proc_version()},
          {"simdjson", SIMDJSON_STRINGIFY(SIMDJSON_VERSION)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)}};
}

Json devices() {
  runtime::DeviceRegistry registry;
  ops::Registry operators;
  register_backends(registry, operators);
  Json out = Json::array();
  for (const auto& backend : registry.backends())
    for (const std::string& device : backend.devices()) {
      const std::string reason = backend.unavailable(device);
      out.push_back(
          {{"name", device}, {"summary", backend.summary}, {"available", reason.empty()}, {"reason", reason}});
    }
  return out;
}

Json gathered(const Options& options) {
  const CpuInfo cpu = cpu_info();
  const int threads = options.threads > 0 ? options.threads : cpu.logical_cpus;
  utsname system{};
  uname(&system);
  Json out;
  out["processor"] = {{"model", cpu.model},
                      {"architecture", system.machine},
                      {"features", cpu.flags},
                      {"isa_detected", isa_name(detected_isa())},
                      {"isa_active", isa_name(active_isa())},
                      {"cpus", cpu.logical_cpus},
                      {"l1d_bytes", cpu.l1d_bytes},
                      {"l2_bytes", cpu.l2_bytes},
                      {"l3_bytes", cpu.l3_bytes}};
  out["threads"] = threads;
  out["memory"] = {{"total_bytes", meminfo_bytes("MemTotal")},
                   {"available_bytes", meminfo_bytes("MemAvailable")},
                   {"page_bytes", sysconf(_SC_PAGESIZE)},
                   {"transparent_hugepages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")}};
  out["system"] = {{"kernel", std::string(system.sysname) + " " + system.release},
                   {"load_average", first_line("/proc/loadavg")},
                   {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")}};
  out["libraries"] = libraries();
  std::optional<target::MachineLimits> limits;
  if (!options.measure) limits = target::load_stored_limits(threads);
  const bool stored = limits.has_value();
  if (!limits) {
    limits = target::measure_limits(threads, options.measure ? target::Effort::thorough : target::Effort::quick);
    try {
      target::store_limits(*limits);
    } catch (const Error& e) {
      out["limits_not_stored"] = e.what();
    }
  }
  out["limits"] = target::limits_to_json(*limits);
  out["limits_are"] = stored ? "stored; --measure measures again" : "measured now";
  out["devices"] = devices();
  const char* isa = std::getenv("TILEWRIGHT_ISA");
  const char* model = std::getenv("MODEL_PATH");
  out["environment"] = {{"TILEWRIGHT_ISA", isa ? isa : ""}, {"MODEL_PATH", model ? model : ""}};
  return out;
}

std::string size_text(double bytes) {
  if (bytes <= 0) return "unknown";
  if (bytes >= double(1u << 30)) return fmt::format("{:.1f} GiB", bytes / double(1u << 30));
  if (bytes >= double(1u << 20)) return fmt::format("{:.0f} MiB", bytes / double(1u << 20));
  return fmt::format("{:.0f} KiB", bytes / 1024);
}

void print_text(const Json& found) {
  const Json& cpu = found["processor"];
  const Json& memory = found["memory"];
  const Json& limits = found["limits"];
  report::Table table({{"what"}, {"found"}});
  std::string features, libraries;
  for (const auto& f : cpu["features"]) features += (features.empty() ? "" : " ") + f.get<std::string>();
  for (const auto& [name, version] : found["libraries"].items())
    libraries += (libraries.empty() ? "" : ", ") + name + " " + version.get<std::string>();
  const auto row = [&](const std::string& what, const std::string& text) { table.add_row({what, text}); };
  row("processor", cpu["model"].get<std::string>() + ", " + cpu["architecture"].get<std::string>());
  row("features", features);
  row("kernels", fmt::format("{} (best here: {}; TILEWRIGHT_ISA lowers it)", cpu["isa_active"].get<std::string>(),
                             cpu["isa_detected"].get<std::string>()));
  row("threads", fmt::format("{} of {} processors", found["threads"].get<int>(), cpu["cpus"].get<int>()));
  row("caches", fmt::format("L1d {}, L2 {}, L3 {}", size_text(cpu["l1d_bytes"]), size_text(cpu["l2_bytes"]),
                            size_text(cpu["l3_bytes"])));
  row("memory",
      fmt::format("{} of {} available", size_text(memory["available_bytes"]), size_text(memory["total_bytes"])));
  row("large pages", memory["transparent_hugepages"].get<std::string>());
  row("system",
      found["system"]["kernel"].get<std::string>() + ", load " + found["system"]["load_average"].get<std::string>());
  row("libraries", libraries);
  std::fputs(table.text().c_str(), stdout);

  fmt::print("\nlimits ({}; benchmarks always measure anew)\n", found["limits_are"].get<std::string>());
  report::Table rates({{"limit"}, {"value", report::Align::right}, {"unit"}});
  const auto rate = [&](const char* what, const char* key, double scale, const char* unit) {
    const double value = limits.value(key, 0.0);
    rates.add_row({what, value > 0 ? fmt::format("{:.1f}", value * scale) : "none", unit});
  };
  rate("clock", "clock_hz", 1e-9, "GHz");
  rate("f32 multiply-add", "f32_flops", 1e-9, "GFLOP/s");
  rate("bf16 dot product", "bf16_dot_flops", 1e-9, "GFLOP/s");
  rate("memory read", "read_bytes", 1e-9, "GB/s");
  rate("memory copy (read + written)", "copy_bytes", 1e-9, "GB/s");
  rate("L1 / read", "l1_bytes", 1e-9, "GB/s");
  rate("L2 / read", "l2_bytes", 1e-9, "GB/s");
  rate("L3 / read", "l3_bytes", 1e-9, "GB/s");
  rate("fork and join of spinning threads", "fork_join_seconds", 1e9, "ns");
  std::fputs(rates.text().c_str(), stdout);

  std::fputs("\ndevices\n", stdout);
  report::Table list({{"device"}, {"state"}, {"what"}});
  for (const Json& d : found["devices"])
    list.add_row({d["name"],
                  d["available"].get<bool>() ? "available" : "unavailable: " + d["reason"].get<std::string>(),
                  d["summary"]});
  std::fputs(list.text().c_str(), stdout);
  if (found.contains("limits_not_stored"))
    fmt::print(stderr, "warning: limits were not stored: {}\n", found["limits_not_stored"].get<std::string>());
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Command command(app, "doctor", "What this machine has: processor, memory, libraries, limits, devices");
  command.add_flag("--measure", options->measure, "Measure the limits again, thoroughly (about 3 s)");
  command.add_option("--threads", options->threads, "Threads to measure with (default: all)").range(1, 1024);
  command.add_option("--format", options->format, "text or json").one_of({"text", "json"}).show_default();
  command.on_run([options] {
    const Json found = gathered(*options);
    if (options->format == "json")
      std::fputs((found.dump(2) + "\n").c_str(), stdout);
    else
      print_text(found);
  });
}

}  // namespace tilewright::cli

#include "report/envelope.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <ostream>

#include "base/cpu.h"
#include "base/mapped_file.h"

namespace tilewright::report {

// Defined in the programs that know it (cmake/source_commit.cmake), else null.
__attribute__((weak)) const char* linked_source_commit();

namespace {

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json machine() {
  const CpuInfo cpu = cpu_info();
  utsname system{};
  uname(&system);
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  return {{"processor", cpu.model},
          {"instruction_set", std::string(isa_name(active_isa()))},
          {"logical_cpus", cpu.logical_cpus},
          {"memory_bytes", pages * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE))},
          {"system", std::string(system.sysname) + " " + system.release}};
}

std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string word; std::getline(in, word, '\0');) out.push_back(word);
  // Reports are passed on; access tokens are not.
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].starts_with("--token=")) out[i] = "--token=***";
    if (i > 0 && out[i - 1] == "--token") out[i] = "***";
  }
  return out;
}

}  // namespace

std::string tool_version() { return TILEWRIGHT_VERSION; }

std::string source_commit() { return linked_source_commit ? linked_source_commit() : ""; }

Json envelope(const Report& report) {
  return {{"kind", report.kind},
          {"schema", "tilewright-report"},
          {"version", kEnvelopeVersion},
          {"command", command_line()},
          {"tool", {{"name", "tilewright"}, {"version", tool_version()}, {"commit", source_commit()}}},
          {"machine", machine()},
          {"seeds", report.seeds},
          {"created", now_utc()},
          {"result", report.result}};
}

void write_envelope(const std::filesystem::path& path, const Json& envelope) {
  const std::string text = envelope.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_file_atomically(path, [&](std::ostream& out) { out << text; });
}

void write_report(const std::filesystem::path& path, const Report& report) { write_envelope(path, envelope(report)); }

}  // namespace tilewright::report

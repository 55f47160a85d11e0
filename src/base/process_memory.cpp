#include "base/process_memory.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace tilewright {
namespace {

std::uint64_t status_bytes(const char* key) {
  std::ifstream status("/proc/self/status");
  const std::string format = std::string(key) + ": %llu kB";
  for (std::string line; std::getline(status, line);) {
    unsigned long long kib = 0;
    if (line.starts_with(key) && std::sscanf(line.c_str(), format.c_str(), &kib) == 1) return kib * 1024;
  }
  return 0;
}

}  // namespace

std::uint64_t peak_resident_bytes() { return status_bytes("VmHWM"); }
std::uint64_t resident_bytes() { return status_bytes("VmRSS"); }

}  // namespace tilewright

#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"

namespace tilewright {
namespace {

constexpr IsaLevel kLevels[] = {IsaLevel::generic, IsaLevel::neon, IsaLevel::avx2, IsaLevel::avx512,
                                IsaLevel::avx512_bf16};

#if defined(__x86_64__)
// Clang 14 does not know the name in __builtin_cpu_supports.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

IsaLevel read_active() {
  const IsaLevel best = detected_isa();
  const char* wish = std::getenv("TILEWRIGHT_ISA");
  if (!wish || !*wish) return best;
  const IsaLevel level = isa_from_name(wish);
  if (!is_supported(level))
    fail({.what = "this processor does not have that instruction set",
          .where = "TILEWRIGHT_ISA",
          .expected = "at most " + std::string(isa_name(best)),
          .found = wish,
          .fix = "unset TILEWRIGHT_ISA"});
  return level;
}

// What the kernel says of the caches of one processor; sysconf's CPUID reading gives a package's total on some
// machines.
long sysfs_cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int found = 0;
    std::string type, size;
    if (!(level_file >> found) || !(type_file >> type) || !(size_file >> size)) continue;
    if (found != level || type == "Instruction") continue;
    const long number = std::atol(size.c_str());
    return size.back() == 'M' ? number << 20 : size.back() == 'K' ? number << 10 : number;
  }
  return 0;
}

long cache_bytes(int level, int sysconf_name) {
  const long size = sysfs_cache_bytes(level);
  return size > 0 ? size : std::max(0L, sysconf(sysconf_name));
}

}  // namespace

std::string_view isa_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::generic:
      return "generic";
    case IsaLevel::neon:
      return "neon";
    case IsaLevel::avx2:
      return "avx2";
    case IsaLevel::avx512:
      return "avx512";
    case IsaLevel::avx512_bf16:
      return "avx512_bf16";
  }
  return "?";
}

IsaLevel isa_from_name(std::string_view name) {
  std::string known;
  for (IsaLevel level : kLevels) {
    if (isa_name(level) == name) return level;
    known += (known.empty() ? "" : ", ") + std::string(isa_name(level));
  }
  fail({.what = "no such instruction-set level",
        .where = "TILEWRIGHT_ISA",
        .expected = "one of " + known,
        .found = std::string(name),
        .fix = "unset TILEWRIGHT_ISA to use the best one"});
}

IsaLevel detected_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // its AVX checks include XCR0
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) return IsaLevel::avx512_bf16;
  if (avx512) return IsaLevel::avx512;
  if (avx2) return IsaLevel::avx2;
#elif defined(__aarch64__)
  return IsaLevel::neon;
#endif
  return IsaLevel::generic;
}

bool is_supported(IsaLevel level) {
  if (level == IsaLevel::generic) return true;
  const IsaLevel best = detected_isa();
  return level <= best && (level == IsaLevel::neon) == (best == IsaLevel::neon);
}

IsaLevel active_isa() {
  static const IsaLevel level = read_active();
  return level;
}

CpuInfo cpu_info() {
  CpuInfo info;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.rfind("model name", 0) == 0) {
      info.model = line.substr(line.find(':') + 2);
      break;
    }
  cpu_set_t set;
  CPU_ZERO(&set);
  info.logical_cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  info.l1d_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE);
  info.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE);
  info.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE);
#if defined(__x86_64__)
  __builtin_cpu_init();
#define TW_FLAG(name, shown) \
  if (__builtin_cpu_supports(name)) info.flags.push_back(shown);
  TW_FLAG("avx2", "avx2")
  TW_FLAG("fma", "fma") if (has_f16c()) info.flags.push_back("f16c");
  TW_FLAG("avx512f", "avx512f")
  TW_FLAG("avx512bw", "avx512bw") TW_FLAG("avx512dq", "avx512dq") TW_FLAG("avx512vl", "avx512vl")
      TW_FLAG("avx512vnni", "avx512_vnni") TW_FLAG("avx512bf16", "avx512_bf16")
#undef TW_FLAG
#endif
          return info;
}

}  // namespace tilewright

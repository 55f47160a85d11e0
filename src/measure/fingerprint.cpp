#include "measure/fingerprint.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/cpu.h"

namespace tilewright::measure {

Fingerprint read_fingerprint(int threads) {
  Fingerprint out;
  out.cpu = cpu_info().model;
  out.isa = isa_name(active_isa());
  out.threads = threads;
  std::ifstream governor("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!std::getline(governor, out.governor) || out.governor.empty()) out.governor = "unknown";
  double load[3] = {};
  const int known = getloadavg(load, 3);
  for (int i = 0; i < known; ++i) out.load_average.push_back(load[i]);
  out.memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  utsname system{};
  uname(&system);
  out.system = std::string(system.sysname) + " " + system.release + " " + system.machine;
  return out;
}

}  // namespace tilewright::measure

// Resident memory of this process, as the kernel counts it (/proc/self/status). 0 where it cannot be read.
#pragma once

#include <cstdint>

namespace tilewright {

std::uint64_t peak_resident_bytes();  // VmHWM
std::uint64_t resident_bytes();       // VmRSS

}  // namespace tilewright

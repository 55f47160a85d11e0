// The machine that a run was measured on. Absolute numbers of two runs are comparable only where cpu, isa, threads and
// system agree.
#pragma once

#include "measure/bench_result.h"

namespace tilewright::measure {

// The load average is that of this moment; the governor is "unknown" where the system does not tell.
Fingerprint read_fingerprint(int threads);

}  // namespace tilewright::measure

// A benchmark's result as the `result` of a report (docs/report.md).
#pragma once

#include "base/json.h"
#include "measure/bench_result.h"

namespace tilewright::measure {

Json bench_json(const BenchResult& result);

}  // namespace tilewright::measure

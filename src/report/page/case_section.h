// One case of a benchmark on the page: ratios, table, where the time goes, timelines, memory, costs, coverage,
// failures.
#pragma once

#include <string>

#include "report/bench/bench_report.h"

namespace tilewright::report {

// HTML. `json` is the case's place in the report: "/result/cases/0"; `id` names the section within the page.
std::string case_section(const BenchCase& one, const std::string& json, const std::string& id);

// "fused+graph 1.496 [1.486, 1.516] times as fast as eager"; what may not be claimed says so. Empty where no arm has a
// ratio.
std::string case_headline(const BenchCase& one);

}  // namespace tilewright::report

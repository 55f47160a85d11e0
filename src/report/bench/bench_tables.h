// A benchmark's report as tables for a terminal.
#pragma once

#include <string>

#include "base/json.h"
#include "report/bench/bench_report.h"

namespace tilewright::report {

struct TableOptions {
  int width = 100;
  bool colour = false;  // wants_colour(STDOUT_FILENO) of report/table.h
};

// What was measured where; of each case the arms, their differences, coverage and one-time costs; failures with cause
// and fix; warnings. Of an envelope of kind "port" its steps, too. An arm whose result is wrong has no ratio; a ratio
// without claim says so. Every line fits `width` (90 at least). Throws Error as bench_report does.
std::string bench_tables(const Json& envelope, const TableOptions& options = {});
std::string bench_tables(const BenchReport& report, const TableOptions& options = {});

}  // namespace tilewright::report

// A benchmark's report as one HTML page that needs nothing else: no request, no script; readable on a phone and in
// print.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "report/bench/bench_report.h"

namespace tilewright::report {

// Of an envelope of kind "bench" or "port". Every text of the report is escaped. A table cell that shows a number names
// the number's place in the report: <td data-json="/result/cases/0/arms/1/rate_median">. Throws Error as bench_report
// does.
std::string bench_page(const Json& envelope);
std::string bench_page(const BenchReport& report);

// Writes it as a whole file. Throws Error if it cannot be written.
void write_page(const std::filesystem::path& path, const std::string& page);

}  // namespace tilewright::report

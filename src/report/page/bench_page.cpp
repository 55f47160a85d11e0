#include "report/page/bench_page.h"

#include <ostream>

#include "base/mapped_file.h"
#include "report/bench/bench_tables.h"

namespace tilewright::report {

std::string bench_page(const Json& envelope) { return bench_page(bench_report(envelope)); }

std::string bench_page(const BenchReport& report) {
  std::string body;
  for (const char c : bench_tables(report)) body += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return "<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>tilewright</title>\n<pre>" + body + "</pre>\n";
}

void write_page(const std::filesystem::path& path, const std::string& page) {
  write_file_atomically(path, [&](std::ostream& out) { out << page; });
}

}  // namespace tilewright::report

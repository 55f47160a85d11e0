// Any bytes as a report: an Error, or tables that fit their width and a page whose texts add no tag.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "report/bench/bench_tables.h"
#include "report/compare/comparison.h"
#include "report/page/bench_page.h"
#include "report/table.h"

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Json envelope = parse_json(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
    const report::BenchReport read = report::bench_report(envelope, "fuzz");
    const std::string text = report::bench_tables(read) + report::comparison_tables({"a", read}, {"b", read});
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == text.npos || report::display_width(text.substr(at, end - at)) > 100) std::abort();
      at = end + 1;
    }
    const std::string page = report::bench_page(read) + report::comparison_page({"a", read}, {"b", read});
    if (page.find("<script") != page.npos) std::abort();
  } catch (const Error&) {
  }
  return 0;
}

#include "cli/report_command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/command_line.h"
#include "report/bench/bench_tables.h"
#include "report/compare/comparison.h"
#include "report/page/bench_page.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string a, b, html;
};

// A page in place of the report it was made from would be a loss.
void check_target(const Options& options) {
  for (const std::string* input : {&options.a, &options.b}) {
    std::error_code none;
    if (options.html.empty() || input->empty() || !std::filesystem::equivalent(options.html, *input, none)) continue;
    fail({.what = "the page would replace the report",
          .where = "--html " + options.html,
          .expected = "another file",
          .found = "",
          .fix = "name a file that ends in .html"});
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Command command(app, "report", "Render the report of bench or port again, or two of them side by side");
  command.add_option("A.json", options->a, "Report that --report-file wrote").not_empty().required();
  command.add_option("B.json", options->b, "Another one, to stand beside it").not_empty();
  command.add_option("--html", options->html, "Write a page to this file, too").not_empty();
  command.footer("The fields of a report are listed in docs/report.md.");
  command.on_run([options] {
    check_target(*options);
    const report::TableOptions look{.width = 100, .colour = report::wants_colour(STDOUT_FILENO)};
    const report::BenchReport a = report::read_bench_report(options->a);
    std::string text, page;
    if (options->b.empty()) {
      text = report::bench_tables(a, look);
      if (!options->html.empty()) page = report::bench_page(a);
    } else {
      const report::BenchReport b = report::read_bench_report(options->b);
      const report::NamedReport first{options->a, a}, second{options->b, b};
      text = report::comparison_tables(first, second, look);
      if (!options->html.empty()) page = report::comparison_page(first, second);
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    if (!options->html.empty()) report::write_page(options->html, page);
  });
}

}  // namespace tilewright::cli

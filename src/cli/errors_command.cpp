#include "cli/errors_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/command_line.h"
#include "cli/usage.h"
#include "report/envelope.h"
#include "report/table.h"
#include "runtime/error_codes.h"

namespace tilewright::cli {
namespace {

using runtime::ErrorCode;

constexpr int kWidth = 100;
constexpr int kLabel = 11;

struct Options {
  std::string code;
  std::string format = "text";
  std::string report_file;
};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// "107027, 107028": the known codes that differ least from what was typed.
std::string nearest_codes(const std::string& typed) {
  if (!is_number(typed)) {
    std::vector<std::string> names;
    for (const ErrorCode& e : runtime::error_codes()) {
      names.emplace_back(e.name);
      names.push_back(std::string(e.name).substr(std::string(e.name).rfind("RT_") == std::string::npos
                                                     ? std::string("ACL_ERROR_").size()
                                                     : std::string("ACL_ERROR_RT_").size()));
    }
    return nearest(upper(typed), names);
  }
  long value = 0;
  if (std::from_chars(typed.data(), typed.data() + typed.size(), value).ec != std::errc()) return {};
  std::vector<int> codes;
  for (const ErrorCode& e : runtime::error_codes()) codes.push_back(e.code);
  const auto away = [&](int code) { return std::labs(code - value); };
  std::sort(codes.begin(), codes.end(), [&](int a, int b) { return std::pair(away(a), a) < std::pair(away(b), b); });
  codes.resize(std::min<std::size_t>(codes.size(), 2));
  return fmt::format("{}", fmt::join(codes, ", "));
}

// The code of that number; else all whose names hold the text.
std::vector<const ErrorCode*> matching(const std::string& typed) {
  std::vector<const ErrorCode*> out;
  for (const ErrorCode& e : runtime::error_codes())
    if (typed.empty() || (is_number(typed) ? std::to_string(e.code) == typed
                                           : std::string(e.name).find(upper(typed)) != std::string::npos))
      out.push_back(&e);
  for (const ErrorCode* e : out)  // a whole name is meant alone, though others hold it
    if (!typed.empty() && upper(typed) == e->name) return {e};
  return out;
}

void print_line(const char* label, const std::string& text) {
  for (bool first = true; const std::string& line : report::folded_lines(text, kWidth - kLabel)) {
    fmt::print("{:<{}}{}\n", first ? fmt::format("  {}", label) : "", kLabel, line);
    first = false;
  }
}

void print_one(const ErrorCode& e) {
  fmt::print("{}  {}\n", e.code, e.name);
  print_line("meaning", e.meaning);
  print_line("cause", e.cause);
  print_line("fix", e.fix);
}

void print_table(const std::vector<const ErrorCode*>& codes) {
  report::Table table({{"code", report::Align::right}, {"name"}, {"meaning"}});
  for (const ErrorCode* e : codes) table.add_row({std::to_string(e->code), e->name, e->meaning});
  std::fputs(table.text(kWidth).c_str(), stdout);
}

Json as_json(const std::vector<const ErrorCode*>& codes) {
  Json out = Json::array();
  for (const ErrorCode* e : codes)
    out.push_back(
        {{"code", e->code}, {"name", e->name}, {"meaning", e->meaning}, {"cause", e->cause}, {"fix", e->fix}});
  return out;
}

void run(const Options& options, const std::string& command) {
  const std::vector<const ErrorCode*> found = matching(options.code);
  if (found.empty()) {
    const std::string near = nearest_codes(options.code);
    throw WrongUsage(command, "no error code " + options.code + (near.empty() ? "" : "; the nearest: " + near));
  }
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "errors", .seeds = {}, .result = {{"codes", as_json(found)}}});
  constexpr std::size_t kFew = 3;
  if (options.format == "json")
    fmt::print("{}\n", as_json(found).dump(2));
  else if (found.size() > kFew)
    print_table(found);
  else
    for (const ErrorCode* e : found) print_one(*e);
}

}  // namespace

void add_errors_subcommand(CLI::App& parent, const char* name, const char* command_name) {
  Command command(parent, name, "Error codes of captures and the runtime: name, meaning, cause, fix");
  auto options = std::make_shared<Options>();
  command.add_option("CODE", options->code, "A number, a name, or a part of one (default: the whole table)");
  command.add_option("--format", options->format, "text or json").one_of({"text", "json"}).show_default();
  command.add_option("--report-file", options->report_file, "Write a JSON report to this file");
  command.on_run([options, shown = std::string(command_name)] { run(*options, shown); });
}

void add_errors_command(CLI::App& app) { add_errors_subcommand(app, "errors", "errors"); }

}  // namespace tilewright::cli

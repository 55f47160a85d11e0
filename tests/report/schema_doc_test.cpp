// docs/report.md names every field of a report, and no other.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "base/mapped_file.h"
#include "report/envelope.h"
#include "report/report_fixture.h"

namespace tilewright::report {
namespace {

// "result.cases[].arms[].ratio.low" for every field; what users name themselves is one field, "settings.*".
std::set<std::string> fields(const Json& report) {
  std::set<std::string> out;
  test::for_each_value(report, [&](const Json::json_pointer& at, const Json&) {
    std::string path;
    for (Json::json_pointer p = at; !p.empty(); p.pop_back()) {
      const std::string& name = p.back();
      const bool index = name.find_first_not_of("0123456789") == name.npos;
      path = (index ? "[]" : "." + name) + path;
    }
    if (path.empty() || path.ends_with("[]")) return;
    path = path.substr(1);
    for (const char* open : {"seeds.", "result.settings.", "machine."})
      if (path.starts_with(open)) return;
    out.insert(path);
  });
  return out;
}

// The fields that the page's tables have in code in their first column, below the prefix of their section.
std::set<std::string> documented() {
  const std::string page = read_text_file(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "docs/report.md");
  std::set<std::string> out;
  std::string prefix;
  for (const std::string& line : test::lines_of(page)) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("#+ .*`(.*)`.*")))
      prefix = match[1] == "envelope" ? "" : match[1].str() + ".";
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" | ", 2) - 2);
    static const std::regex name("`([^`]*)`");
    for (auto it = std::sregex_iterator(cell.begin(), cell.end(), name); it != std::sregex_iterator(); ++it)
      out.insert(prefix + (*it)[1].str());
  }
  return out;
}

TEST(ReportSchema, TheDocumentNamesEveryFieldAndNoOther) {
  std::set<std::string> there = fields(test::fixture_report());
  for (const std::string& field : fields(test::port_report()))
    if (!field.starts_with("result.bench.")) there.insert(field);
  there.insert("result.gate.smoke.skipped");  // of a gate that did not run
  const std::set<std::string> named = documented();
  for (const std::string& field : there) EXPECT_TRUE(named.contains(field)) << field << " is not in docs/report.md";
  for (const std::string& field : named) EXPECT_TRUE(there.contains(field)) << field << " is no field of a report";
}

TEST(ReportSchema, TheEnvelopeHasTheFixturesFields) {
  const Json mine = envelope({.kind = "bench"}), fixture = test::fixture_report();
  for (const auto& [name, value] : fixture.items()) EXPECT_TRUE(mine.contains(name)) << name;
  for (const auto& [name, value] : fixture["tool"].items()) EXPECT_TRUE(mine["tool"].contains(name)) << name;
  EXPECT_EQ(mine["version"], kEnvelopeVersion);
  EXPECT_EQ(mine["version"], fixture["version"]);
}

}  // namespace
}  // namespace tilewright::report

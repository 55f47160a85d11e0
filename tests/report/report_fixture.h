// The invented report that the tests of this folder share, and ways to bend it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace tilewright::test {

inline Json fixture_report() {
  return read_json_file(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/report/fixtures/bench.json");
}

// Fewer timeline entries and operators, all of them alike: for tests that go through every field.
inline Json small_fixture_report() {
  Json report = fixture_report();
  for (Json& one : report["result"]["cases"])
    for (Json& arm : one["arms"])
      for (const char* list : {"timeline", "by_op", "fused", "fallbacks"})
        while (arm[list].size() > 1) arm[list].erase(arm[list].size() - 1);
  return report;
}

// The same measurement as a port's report.
inline Json port_report() {
  Json report = fixture_report();
  report["kind"] = "port";
  report["result"] = {{"identity", Json::object()},
                      {"steps",
                       {{{"name", "resolve"}, {"status", "done"}, {"seconds", 0.01}, {"detail", "assets/bard"}},
                        {{"name", "smoke"}, {"status", "skipped"}, {"seconds", nullptr}, {"detail", "--skip smoke"}},
                        {{"name", "bench"}, {"status", "failed"}, {"seconds", 12.5}, {"detail", "one arm failed"}}}},
                      {"bench", report["result"]}};
  return report;
}

// Calls `visit` with the JSON pointer of every value, containers included.
inline void for_each_value(const Json& value, const std::function<void(const Json::json_pointer&, const Json&)>& visit,
                           const Json::json_pointer& at = Json::json_pointer()) {
  visit(at, value);
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) for_each_value(inner, visit, at / key);
  else if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) for_each_value(value[i], visit, at / i);
}

// Words that mean something to whoever reads a report; another text there is another report.
inline bool is_keyword(const Json::json_pointer& at) {
  for (const char* name : {"schema", "kind", "status", "verdict", "regime", "class", "lane"})
    if (at.back() == name) return true;
  return false;
}

// Every text of a report that is not a keyword, replaced.
inline Json with_texts(Json report, const std::string& text) {
  std::vector<Json::json_pointer> places;
  for_each_value(report, [&](const Json::json_pointer& at, const Json& value) {
    if (value.is_string() && !is_keyword(at)) places.push_back(at);
  });
  for (const auto& at : places) report[at] = text;
  return report;
}

// Every number below /result that need not be an integer, replaced.
inline Json with_numbers(Json report, double number) {
  std::vector<Json::json_pointer> places;
  for_each_value(report["result"], [&](const Json::json_pointer& at, const Json& value) {
    if (value.is_number_float()) places.push_back(Json::json_pointer("/result") / at);
  });
  for (const auto& at : places) report[at] = number;
  return report;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace tilewright::test

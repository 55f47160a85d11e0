// Reads a report's JSON field by field; every error names the field's path.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "report/bench/bench_report.h"

namespace tilewright::report {

// One value of a report and where it lies: "r.json: result.cases[0]". An absent field and a null are the same. Getters
// throw Error for a value of another type.
class ReportReader {
 public:
  ReportReader(const Json& value, std::string where) : value_(value), where_(std::move(where)) {}

  // An absent field gives a reader of null, of which every getter gives nothing.
  ReportReader at(const char* key) const;
  bool is_null() const { return value_.is_null(); }
  bool is_text() const { return value_.is_string(); }
  const Json& value() const { return value_; }
  const std::string& where() const { return where_; }

  std::string text(const char* key) const;  // "" if absent
  Number number(const char* key) const;
  double needed_number(const char* key) const;  // Error if absent
  Count integer(const char* key) const;
  std::optional<bool> flag(const char* key) const;
  std::vector<double> numbers(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  // Each entry of a list of objects; an absent list has none.
  template <typename T>
  std::vector<T> list(const char* key, T (*read)(const ReportReader&)) const {
    std::vector<T> out;
    for (const ReportReader& entry : entries(key)) out.push_back(read(entry));
    return out;
  }
  // The fields of an object as texts: texts as they are, other values as JSON.
  std::vector<std::pair<std::string, std::string>> items(const char* key) const;
  // A field of any type as text; a number with four digits.
  std::string any(const char* key) const;
  template <typename T>
  std::optional<T> optional(const char* key, T (*read)(const ReportReader&)) const {
    const ReportReader field = at(key);
    if (field.is_null()) return {};
    return read(field);
  }

  [[noreturn]] void refuse(const char* expected) const;

 private:
  std::vector<ReportReader> entries(const char* key) const;

  const Json& value_;
  std::string where_;
};

}  // namespace tilewright::report

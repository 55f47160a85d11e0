#include "report/bench/report_reader.h"

#include <cmath>

namespace tilewright::report {
namespace {

const Json kNull;

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return kNothing;
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void ReportReader::refuse(const char* expected) const {
  fail({.what = "a field of the report has the wrong type",
        .where = where_,
        .expected = expected,
        .found = json_kind(value_) + " " + shortened(value_text(value_), 60),
        .fix = "docs/report.md lists the fields; measure again if the file was not edited by hand"});
}

ReportReader ReportReader::at(const char* key) const {
  const std::string where = where_ + (where_.ends_with(": ") ? "" : ".") + key;
  if (value_.is_null()) return {kNull, where};
  if (!value_.is_object()) refuse("an object");
  const auto it = value_.find(key);
  return {it == value_.end() ? kNull : *it, where};
}

std::string ReportReader::text(const char* key) const {
  const ReportReader field = at(key);
  if (field.is_null()) return {};
  if (!field.value_.is_string()) field.refuse("text");
  return field.value_.get<std::string>();
}

Number ReportReader::number(const char* key) const {
  const ReportReader field = at(key);
  if (field.is_null()) return {};
  if (!field.value_.is_number()) field.refuse("a number");
  return field.value_.get<double>();
}

double ReportReader::needed_number(const char* key) const {
  const Number value = number(key);
  if (!value) at(key).refuse("a number");
  return *value;
}

Count ReportReader::integer(const char* key) const {
  const ReportReader field = at(key);
  if (field.is_null()) return {};
  const double value = field.value_.is_number() ? field.value_.get<double>() : NAN;
  if (!(std::abs(value) < 9.0e15) || std::nearbyint(value) != value) field.refuse("an integer");
  return static_cast<std::int64_t>(value);
}

std::optional<bool> ReportReader::flag(const char* key) const {
  const ReportReader field = at(key);
  if (field.is_null()) return {};
  if (!field.value_.is_boolean()) field.refuse("true or false");
  return field.value_.get<bool>();
}

std::vector<ReportReader> ReportReader::entries(const char* key) const {
  const ReportReader field = at(key);
  std::vector<ReportReader> out;
  if (field.is_null()) return out;
  if (!field.value_.is_array()) field.refuse("a list");
  for (std::size_t i = 0; i < field.value_.size(); ++i)
    out.emplace_back(field.value_[i], field.where_ + "[" + std::to_string(i) + "]");
  return out;
}

std::vector<double> ReportReader::numbers(const char* key) const {
  std::vector<double> out;
  for (const ReportReader& entry : entries(key)) {
    if (!entry.value_.is_number()) entry.refuse("a number");
    out.push_back(entry.value_.get<double>());
  }
  return out;
}

std::vector<std::string> ReportReader::texts(const char* key) const {
  std::vector<std::string> out;
  for (const ReportReader& entry : entries(key)) {
    if (!entry.value_.is_string()) entry.refuse("text");
    out.push_back(entry.value_.get<std::string>());
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> ReportReader::items(const char* key) const {
  const ReportReader field = at(key);
  std::vector<std::pair<std::string, std::string>> out;
  if (field.is_null()) return out;
  if (!field.value_.is_object()) field.refuse("an object");
  for (const auto& [name, value] : field.value_.items()) out.emplace_back(name, value_text(value));
  return out;
}

std::string ReportReader::any(const char* key) const {
  const ReportReader field = at(key);
  if (field.value_.is_number_float()) return significant_text(field.value_.get<double>());
  return field.is_null() ? "" : value_text(field.value_);
}

}  // namespace tilewright::report

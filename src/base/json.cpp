#include "base/json.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tilewright {
namespace {

template <typename T>
constexpr const char* wanted();
template <>
constexpr const char* wanted<bool>() { return "true or false"; }
template <>
constexpr const char* wanted<std::int64_t>() { return "an integer"; }
template <>
constexpr const char* wanted<double>() { return "a number"; }
template <>
constexpr const char* wanted<std::string>() { return "a string"; }

template <typename T>
bool fits(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  if constexpr (std::is_same_v<T, double>) return value.is_number();
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_integer()) return true;
    if (!value.is_number_float()) return false;
    const double d = value.get<double>();  // 10000.0 is written where an integer is meant
    return std::nearbyint(d) == d && std::abs(d) < 9.0e15;
  }
  return false;
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return json_kind(value) + " " + text;
}

template <typename T>
T take(const Json& value, std::string_view key, const std::string& where) {
  if (!fits<T>(value))
    fail({.what = "\"" + std::string(key) + "\" has the wrong type", .where = where, .expected = wanted<T>(),
          .found = shown(value), .fix = "correct the value"});
  if constexpr (std::is_same_v<T, std::int64_t>)
    if (value.is_number_float()) return static_cast<std::int64_t>(value.get<double>());
  return value.get<T>();
}

const Json& as_object(const Json& object, const std::string& where) {
  if (!object.is_object())
    fail({.what = "not a JSON object", .where = where, .expected = "{…}", .found = shown(object), .fix = "check the file"});
  return object;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    std::string reason = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    if (const auto end = reason.find("] "); end != std::string::npos) reason = reason.substr(end + 2);
    fail({.what = "not valid JSON: " + reason, .where = where, .expected = "", .found = "", .fix = "check that the file is whole"});
  }
}

Json read_json_file(const std::filesystem::path& path) { return parse_json(read_text_file(path), path.string()); }

std::string json_kind(const Json& value) {
  if (value.is_number()) return "number";
  return value.type_name();
}

template <typename T>
T required(const Json& object, std::string_view key, const std::string& where) {
  const auto it = as_object(object, where).find(key);
  if (it == object.end())
    fail({.what = "\"" + std::string(key) + "\" is missing", .where = where, .expected = wanted<T>(), .found = "nothing",
          .fix = "add the field, or take the file from the model's publisher again"});
  return take<T>(*it, key, where);
}

template <typename T>
T optional_or(const Json& object, std::string_view key, T otherwise, const std::string& where) {
  const auto it = as_object(object, where).find(key);
  if (it == object.end() || it->is_null()) return otherwise;
  return take<T>(*it, key, where);
}

template bool required<bool>(const Json&, std::string_view, const std::string&);
template std::int64_t required<std::int64_t>(const Json&, std::string_view, const std::string&);
template double required<double>(const Json&, std::string_view, const std::string&);
template std::string required<std::string>(const Json&, std::string_view, const std::string&);
template bool optional_or<bool>(const Json&, std::string_view, bool, const std::string&);
template std::int64_t optional_or<std::int64_t>(const Json&, std::string_view, std::int64_t, const std::string&);
template double optional_or<double>(const Json&, std::string_view, double, const std::string&);
template std::string optional_or<std::string>(const Json&, std::string_view, std::string, const std::string&);

}  // namespace tilewright

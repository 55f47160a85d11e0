// nlohmann::json with errors of our own kind: file, key, expected and found type.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tilewright {

using Json = nlohmann::json;

// Parses a text; `where` names it in errors. Throws Error with line and column.
Json parse_json(std::string_view text, const std::string& where);
Json read_json_file(const std::filesystem::path& path);

// A JSON value's type in the words of a user: "string", "number", "null" …
std::string json_kind(const Json& value);

// object[key] as T, or Error naming where, key and what was found. T: bool, int64_t, double, std::string.
template <typename T>
T required(const Json& object, std::string_view key, const std::string& where);
// The same, but an absent key or a null gives `otherwise`; a value of another type is still an error.
template <typename T>
T optional_or(const Json& object, std::string_view key, T otherwise, const std::string& where);

}  // namespace tilewright

#include "hub/tokenizer/json_node.h"

#include <fmt/format.h>

#include "base/error.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {

JsonNode JsonNode::member(std::string_view key) const {
  simdjson::dom::element value;
  if (object()[key].get(value) != simdjson::SUCCESS) {
    fail({.what = fmt::format("field \"{}\" is missing", key),
          .where = where(),
          .expected = fmt::format("an object with \"{}\"", key),
          .fix = "take tokenizer.json from the model's repository again"});
  }
  return {value, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), *file_};
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object()[key].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return JsonNode(value, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), *file_);
}

std::string_view JsonNode::string() const {
  std::string_view value;
  if (element_.get(value) != simdjson::SUCCESS) wrong("a string");
  return value;
}

bool JsonNode::boolean() const {
  bool value = false;
  if (element_.get(value) != simdjson::SUCCESS) wrong("true or false");
  return value;
}

std::int64_t JsonNode::integer() const {
  std::int64_t value = 0;
  if (element_.get(value) != simdjson::SUCCESS) wrong("an integer");
  return value;
}

simdjson::dom::object JsonNode::object() const {
  simdjson::dom::object value;
  if (element_.get(value) != simdjson::SUCCESS) wrong("an object");
  return value;
}

simdjson::dom::array JsonNode::array() const {
  simdjson::dom::array value;
  if (element_.get(value) != simdjson::SUCCESS) wrong("an array");
  return value;
}

std::vector<JsonNode> JsonNode::items() const {
  std::vector<JsonNode> out;
  for (const simdjson::dom::element item : array()) {
    out.emplace_back(item, fmt::format("{}[{}]", path_, out.size()), *file_);
  }
  return out;
}

std::vector<std::pair<std::string_view, JsonNode>> JsonNode::members() const {
  std::vector<std::pair<std::string_view, JsonNode>> out;
  for (const auto& field : object()) {
    out.emplace_back(field.key, JsonNode(field.value, fmt::format("{}.{}", path_, field.key), *file_));
  }
  return out;
}

bool JsonNode::boolean_or(std::string_view key, bool otherwise) const {
  const auto value = find(key);
  return value ? value->boolean() : otherwise;
}

char32_t JsonNode::character(std::string_view key) const {
  const JsonNode value = member(key);
  const std::string_view text = value.string();
  if (text.empty() || static_cast<std::size_t>(code_point_at(text, 0).bytes) != text.size()) {
    fail({.what = "not one character",
          .where = value.where(),
          .expected = "a string of one character",
          .found = fmt::format("\"{}\"", text)});
  }
  return code_point_at(text, 0).value;
}

std::string JsonNode::where() const { return path_.empty() ? *file_ : *file_ + ": " + path_; }

std::string JsonNode::kind() const {
  switch (element_.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "array";
    case simdjson::dom::element_type::OBJECT:
      return "object";
    case simdjson::dom::element_type::STRING:
      return "string";
    case simdjson::dom::element_type::BOOL:
      return "boolean";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "number";
  }
}

void JsonNode::wrong(const std::string& expected) const {
  fail({.what = "value of the wrong type",
        .where = where(),
        .expected = expected,
        .found = kind(),
        .fix = "take tokenizer.json from the model's repository again"});
}

void JsonNode::unsupported(const std::string& what, const std::string& found, const std::string& expected) const {
  fail({.what = "unsupported " + what, .where = where(), .expected = expected, .found = found});
}

}  // namespace tilewright::hub

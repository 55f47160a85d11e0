// A value of tokenizer.json that knows where it stands, so that every error names file and path.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

// Refers to the parser's document and to `file`, which must outlive it. Accessors throw Error when the type is another.
class JsonNode {
 public:
  JsonNode(simdjson::dom::element element, std::string path, const std::string& file)
      : element_(element), path_(std::move(path)), file_(&file) {}

  bool is_null() const { return element_.is_null(); }
  bool is_string() const { return element_.is_string(); }
  bool is_array() const { return element_.is_array(); }
  JsonNode member(std::string_view key) const;               // must be there, may be null
  std::optional<JsonNode> find(std::string_view key) const;  // nothing if absent or null
  std::string_view string() const;
  bool boolean() const;
  std::int64_t integer() const;
  std::vector<JsonNode> items() const;  // of an array
  std::vector<std::pair<std::string_view, JsonNode>> members() const;
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;

  std::string_view required_string(std::string_view key) const { return member(key).string(); }
  bool boolean_or(std::string_view key, bool otherwise) const;
  std::string_view type() const { return required_string("type"); }
  char32_t character(std::string_view key) const;  // a string of exactly one character

  std::string where() const;                                   // "tokenizer.json: model.merges[3]"
  std::string kind() const;                                    // "string", "null" …
  [[noreturn]] void wrong(const std::string& expected) const;  // found: the kind of this value
  // A construct that this tokenizer does not know, or knows and refuses.
  [[noreturn]] void unsupported(const std::string& what, const std::string& found, const std::string& expected) const;

 private:
  simdjson::dom::element element_;
  std::string path_;
  const std::string* file_;
};

}  // namespace tilewright::hub

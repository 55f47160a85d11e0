// json.dumps, as the tojson filter of transformers calls it.
#pragma once

#include <optional>
#include <string>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // one level of indentation; none: everything on one line
  std::string item_separator = ", ", key_separator = ": ";
  bool sort_keys = false;
};

// Throws Fault for what JSON cannot hold.
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace tilewright::hub::jinja

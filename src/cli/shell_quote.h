// The one line on stdout of the commands that hand a model's path to the next one.
#pragma once

#include <string>
#include <string_view>

#include "base/shell_quote.h"

namespace tilewright::cli {

using tilewright::shell_quoted;

// Without a line break: "export MODEL_PATH='/models/x'". For eval "$(…)".
inline std::string export_line(std::string_view absolute_path) {
  return "export MODEL_PATH=" + shell_quoted(absolute_path);
}

}  // namespace tilewright::cli

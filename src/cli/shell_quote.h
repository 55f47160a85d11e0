// A text as one word of a POSIX shell.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::cli {

// In single quotes, whatever it holds: eval gives exactly the text back. Holds for every byte but NUL.
inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

// The line of `pull` and `patch`, without a line break: "export MODEL_PATH='/models/x'".
inline std::string export_line(std::string_view absolute_path) {
  return "export MODEL_PATH=" + shell_quoted(absolute_path);
}

}  // namespace tilewright::cli

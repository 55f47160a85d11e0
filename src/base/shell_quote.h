// A text as one word of a POSIX shell.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

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

}  // namespace tilewright

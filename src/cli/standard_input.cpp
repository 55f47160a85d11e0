#include "cli/standard_input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace tilewright::cli {

std::string read_standard_input() {
  std::string out;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) out.append(buffer, count);
  if (std::ferror(stdin))
    fail({.what = "cannot be read",
          .where = "stdin",
          .expected = "",
          .found = std::strerror(errno),
          .fix = "give it a file or a pipe"});
  return out;
}

}  // namespace tilewright::cli

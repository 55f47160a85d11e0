// All of standard input. Throws Error if it cannot be read, which is not the same as being empty.
#pragma once

#include <string>

namespace tilewright::cli {

std::string read_standard_input();

}  // namespace tilewright::cli

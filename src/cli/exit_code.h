// How a command ends with another code than 0: it throws this after it has printed everything.
#pragma once

namespace tilewright::cli {

struct ExitCode {
  int code;
};

}  // namespace tilewright::cli

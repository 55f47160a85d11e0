// Why a pass cannot be captured or replayed: the runtime's error with what its table knows of the code.
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace tilewright::engine {

struct CaptureFailure {
  int code = 0;  // 0: an error that has no vendor's code
  std::string name;
  std::string what;
  std::string where;  // the culprit: "layers.0.self_attn, bmm, launch 12"
  std::string expected, found;
  std::string cause, fix;
  bool likely = false;  // concluded from outcomes that differ, not raised by the runtime
};

CaptureFailure failure_of(const Error& error);
// What the table says of `code`, for something that no call was refused for.
CaptureFailure likely_failure(int code, ErrorText text);

// {code, name, what, where, expected, found, cause, fix, likely}; a code of 0 is null.
Json failure_json(const CaptureFailure& failure);

}  // namespace tilewright::engine

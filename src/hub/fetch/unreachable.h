// The hub could not be asked: no connection, no name, no answer in time, or still 5xx after all tries. A complete
// snapshot on this disk may serve instead.
#pragma once

#include "base/error.h"

namespace tilewright::hub {

class Unreachable : public Error {
 public:
  using Error::Error;
};

}  // namespace tilewright::hub

// Decides call by call how a composite runs (`--fuse auto`).
#pragma once

#include <string>

#include "ops/core/op.h"

namespace tilewright::ops {

class Chooser {
 public:
  virtual ~Chooser() = default;
  // The kernel that shall run this call, or null: its decomposition. Asked for every call of a composite whose switch
  // is off; outputs are not known.
  virtual const Candidate* choose(Context& context, const OpCall& call) = 0;
  // The kernel that was chosen refused after all; the call runs its decomposition.
  virtual void refused(const OpCall& call, const std::string& reason) = 0;
};

}  // namespace tilewright::ops

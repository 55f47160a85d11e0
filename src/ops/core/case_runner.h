// Runs cases on a device: every way to run the operator against its reference.
#pragma once

#include <string>
#include <vector>

#include "ops/core/case_file.h"
#include "ops/core/context.h"

namespace tilewright::ops {

struct CaseResult {
  std::string op, id;
  std::string path;        // "decomposition" or a candidate's name
  bool pass = false;       // within the case's tolerance everywhere, integers equal; false if refused
  std::string refusal;     // why the candidate does not serve this case; empty if it ran
  double worst_error = 0;  // largest |difference| of any output
  double worst_ratio = 0;  // of the tolerance
  std::string where;       // "out [0, 5, 3]", the place of the worst ratio
  std::string reason;      // empty if pass: "NaN at …", "shape … against …", a fault of the device
};

// An input of a case on the device, with its strides; `values` receives what it really holds, row-major (with
// overlapping strides the last write of a place counts).
Tensor case_input(Context& context, const OpCase& one, std::size_t input, HostTensor& values);

// Builds the inputs anew for every path, because small ops may write in place. NaN, infinities on one side only, and
// shapes or dtypes that differ from the reference's fail. Throws Error if the inputs do not fit the operator, or if it
// has no reference.
std::vector<CaseResult> run_case(Context& context, const OpCase& one);

}  // namespace tilewright::ops

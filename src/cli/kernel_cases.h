// What the `kernels` commands share: kernels by name, and cases of their operators, given and random.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ops/core/case_file.h"
#include "ops/core/context.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::cli {

using RegisteredKernels = std::vector<ops::Registry::RegisteredKernel>;

// The tile kernels of an operator or of that name, sorted by operator; all of them for an empty name. Throws Error
// naming the nearest known one.
RegisteredKernels find_kernels(const ops::Registry& registry, const std::string& name);

// The operator's own cases.
std::vector<ops::OpCase> cases_of(const ops::Registry& registry, const std::string& op);

// A variation of a case: other values, and other extents where the operator's schema accepts them (what was one number
// stays one number); strides with gaps. Inputs whose elements the case lists keep their shape, and so do masks
// beside them (a position and its mask say the same). Small enough for a reference of plain loops.
ops::OpCase random_case(ops::Context& context, const ops::OpCase& from, std::mt19937_64& random);

// Inputs of a case with shapes and strides but undefined contents: enough to ask and to time.
std::vector<ops::Tensor> shaped_inputs(ops::Context& context, const ops::OpCase& one);

// "2×16×2048 bf16": the first input of a case.
std::string shape_text(const ops::OpCase& one);

}  // namespace tilewright::cli

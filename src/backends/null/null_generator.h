// Tile programs on the null device: each becomes one launch that computes nothing, so that fused arms submit what they
// would submit elsewhere.
#pragma once

#include <memory>

#include "ops/core/code_generator.h"

namespace tilewright::backends::null {

std::shared_ptr<ops::CodeGenerator> make_null_generator();

}  // namespace tilewright::backends::null

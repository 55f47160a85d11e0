// The tile program's operation for a primitive of scalar expressions.
#pragma once

#include <optional>

#include "ops/core/scalar_op.h"
#include "tile/ir/opcode.h"

namespace tilewright::ops {

// Nothing for leaves and for what takes several operations (relu, square, pow).
std::optional<tile::OpCode> tile_opcode(ScalarOp op);

}  // namespace tilewright::ops

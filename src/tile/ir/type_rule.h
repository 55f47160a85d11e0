// The type that a node's operands and attributes give it. Used by the builder (to fill in), the parser and verify/ (to
// compare).
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

// `node.type` is read where operands do not decide: cast (dtype), constant, iota, view, gather, broadcast, slice,
// reshape (shape), top_k's and loops' results through `result`. Throws Error naming the operator, expected and found,
// and the mend ("cast(x, f32) first").
Type type_rule(const Program& program, const Node& node);

// "f32[8, 128]", "index".
std::string type_text(const Program& program, const Type& type);

}  // namespace tilewright::tile

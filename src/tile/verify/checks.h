// The parts of verify(), in their order: each relies on those before it.
#pragma once

#include <string>

#include "tile/verify/index_form.h"

namespace tilewright::tile {

// Throws Error; `id` kNone: about the program as a whole.
[[noreturn]] void refuse(const Program& program, ValueId id, std::string what, std::string expected, std::string found,
                         std::string fix);

void check_parameters(const Program& program);  // names, dtypes, choices
// Blocks form a tree, nodes stand in one block, operands are as many and of the kind that the op takes, and are defined
// before their use in scope. Types are those of type_rule.
void check_structure(const Program& program);
void check_tensors(const Program& program, IndexForms& forms);  // outputs written, inputs not; accesses provably inside
void check_extents(const Program& program, IndexForms& forms);  // valid extents agree
void check_loops(const Program& program, IndexForms& forms);  // steps, bounds of the grid, what a parallel loop carries
void check_parallel(const Program& program, IndexForms& forms);  // no two parallel iterations write one place

}  // namespace tilewright::tile

// Checks of a program that need no run (docs/tile-language.md, "Checks"). Run by Builder::finish, on every text
// that is read to be compiled, and after every pass.
#pragma once

#include "tile/ir/program.h"

namespace tilewright::tile {

// Throws Error whose `where` names program and node (operator and its number as printed), with a proposal in `fix`.
void verify(const Program& program);

// As a text such as "view %7" for messages.
std::string describe(const Program& program, ValueId id);

}  // namespace tilewright::tile

// A program as text (docs/tile-language.md, "Text"), read back by ir/parser. One node per line,
//
//   %7 = mul %3, %5 : f32[1, 8192] {nest=0 vec=16 unroll=4}
//
// numbered from 0 in the order of printing: a loop, its variable, its carried tiles, its body.
#pragma once

#include <string>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

// Any program can be printed, an invalid one too: an operand that is in no block reads `%?`.
std::string print(const Program& program);

// The printed number of each node, kNone for nodes in no block.
std::vector<int> printed_numbers(const Program& program);

// The program with nodes and blocks in the order of printing, without those in no block: what parse(print(p)) gives.
Program renumbered(const Program& program);

}  // namespace tilewright::tile

// Two executions of one case against each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tile/random/tile_case.h"

namespace tilewright::tile {

// How much a comparison saw.
struct Compared {
  std::int64_t exact = 0;    // elements that had to agree to the bit
  std::int64_t bounded = 0;  // elements with a finite bound
  std::int64_t unknown = 0;  // elements of which nothing could be said
  void add(const Compared& other) {
    exact += other.exact;
    bounded += other.bounded;
    unknown += other.unknown;
  }
};

// Something that executes a case on given memory, and may do it wrong. `program` is the case's program, tiles chosen.
using Subject = std::function<void(const TileCase& tile_case, const Program& program, const CaseMemory& memory)>;

// Runs the interpreter on the case and `subject` on a copy of its arguments; says what differs beyond the bounds of
// interp/error_bound.h, or what was written outside outputs' valid parts. Empty: nothing. An Error of the interpreter
// is a difference too ("the interpreter refuses it: …"): random programs and every mend of theirs must run.
std::string difference(const TileCase& tile_case, const Subject& subject, Compared* compared = nullptr);

// A subject that interprets what `change` makes of the program.
Subject interpreted(std::function<Program(const Program&)> change);

}  // namespace tilewright::tile

// What fuse, vectorise and the code generator have in common: which nodes have their values somewhere, and the rows and
// columns that a root of a nest runs over.
#pragma once

#include <map>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

// [1, 1]: lives in a register, computed once.
bool is_single(const Type& type);
// Tiles with memory of their own (single ones: a register) when the code runs; all others are recomputed at their uses.
bool is_materialised(const Program& program, ValueId id);
// The tile operands that must be computed for `id` (loops: initial values only).
std::vector<ValueId> tile_operands(const Program& program, ValueId id);
bool keeps_position(OpCode op);  // element (i, j) needs element (i, j) of its operands only
bool keeps_row(const Program& program, const Node& node);

// Rows and columns, and the index values that bound the valid part of them (all hold): nodes that are in scope where
// the tile is, and, to compare spaces by, canonical ones in ascending order.
struct IterationSpace {
  std::int64_t rows = 1, columns = 1;
  std::vector<ValueId> valid_rows, valid_columns;
  std::vector<ValueId> canonical_rows, canonical_columns;
  bool same_rows(const IterationSpace& other) const {
    return rows == other.rows && canonical_rows == other.canonical_rows;
  }
  bool operator==(const IterationSpace& other) const {
    return same_rows(other) && columns == other.columns && canonical_columns == other.canonical_columns;
  }
};

class IterationSpaces {
 public:
  explicit IterationSpaces(const Program& program);
  // Of an assemble, a reduction, or any other tile.
  IterationSpace of_root(ValueId id);
  IterationSpace of_tile(ValueId id);
  // The first index node that computes the same number.
  ValueId canonical(ValueId index);

 private:
  const Program& program_;
  std::map<ValueId, ValueId> canonical_;
  std::vector<ValueId> distinct_;
};

}  // namespace tilewright::tile

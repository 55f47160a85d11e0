// The on-chip memory that a program's tiles take: what lives when, and the peak against a target's budget.
#pragma once

#include <string>
#include <vector>

#include "tile/cost/tile_target.h"
#include "tile/ir/program.h"

namespace tilewright::tile {

struct Buffer {
  ValueId value = kNone;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0, bytes = 0;  // bytes with the target's alignment
  int first = 0, last = 0;                        // printed numbers of the nodes between which it lives
};

// Reshapes, restrictions and results of loops live in their operand's buffer. A column [m, 1] is laid out as a row.
struct BufferTable {
  std::vector<Buffer> buffers;
  std::int64_t peak = 0;
  ValueId peak_node = kNone;  // the first node at which the peak is reached
};

// Tile parameters that are not chosen count with their smallest choice.
BufferTable buffer_table(const Program& program, const TileTarget& target);

// As a table for readers: value, type, bytes, life; buffers that live at the peak are marked.
std::string buffer_text(const Program& program, const BufferTable& table, const TileTarget& target);

// Throws Error naming the operator at the peak, with the table and a tile that fits. `unchosen`: the same program
// before its tiles were chosen, where choices can be proposed.
void check_budget(const Program& program, const TileTarget& target, const Program* unchosen = nullptr);

}  // namespace tilewright::tile

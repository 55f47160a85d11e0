// A tile program as data: tensors, symbolic dims, scalars, and one tree of blocks of nodes in SSA form. Plain values:
// copied, compared and printed. Built by build/, checked by verify/, changed by passes/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tile/ir/opcode.h"

namespace tilewright::tile {

using ValueId = int;  // index into Program::nodes
using BlockId = int;  // index into Program::blocks
inline constexpr int kNone = -1;

// An extent of a tile: a number, or a tile parameter (index into Program::tiles) whose value passes/choose_tiles fills
// in.
struct Extent {
  std::int64_t size = 1;
  int parameter = kNone;
  Extent() = default;
  // Not an aggregate, so that the braces of TileShape{1, 8192} are one extent each.
  Extent(std::int64_t number, int tile_parameter = kNone) : size(number), parameter(tile_parameter) {}  // NOLINT
  bool fixed() const { return parameter == kNone; }
  bool one() const { return fixed() && size == 1; }
  bool operator==(const Extent&) const = default;
};

// What a node yields: an index (i64 number) or a tile of rows × columns.
struct Type {
  bool index = false;
  DType dtype = DType::f32;
  Extent rows, columns;
  bool operator==(const Type&) const = default;
};

// An extent of a tensor: a number, or a symbolic dim (index into Program::dims).
struct TensorDim {
  std::int64_t size = -1;
  int symbol = kNone;
  bool operator==(const TensorDim&) const = default;
};

enum class Access : std::uint8_t { read, write };

// A tensor parameter. Strides are given at run time, in elements; the dim along which a view's columns run must have
// unit stride (`Program::unit_stride`).
struct TensorParameter {
  std::string name;
  DType dtype = DType::f32;
  std::vector<TensorDim> shape;
  Access access = Access::read;
  bool operator==(const TensorParameter&) const = default;
};

struct ScalarParameter {
  std::string name;
  DType dtype = DType::f32;  // f32 or i64
  bool operator==(const ScalarParameter&) const = default;
};

// A tile size that is chosen, not written: one of `choices`, ascending. `chosen` is 0 until then.
struct TileParameter {
  std::string name;
  std::vector<std::int64_t> choices;
  std::int64_t chosen = 0;
  bool operator==(const TileParameter&) const = default;
};

// What passes decided about computing a node; the meaning of a program does not depend on it.
struct Plan {
  int nest = kNone;     // roots of one number are computed in one pair of loops over rows and columns
  bool stored = false;  // the tile lives in memory; others are recomputed where they are used
  int vector = 0;       // elements per step along columns; 0: not planned
  int unroll = 0;       // steps per iteration of the main part
  bool operator==(const Plan&) const = default;
};

// Operands by op (kNone where optional ones are absent):
//   view      offset per dim of the tensor …, valid rows, valid columns
//   gather    row numbers, offset per dim … (that of row_dim is not used: kNone), valid rows, valid columns
//   assemble  tile, offset per dim …, valid rows, valid columns
//   restrict  tile, valid rows, valid columns
//   matmul    a, b, accumulator or kNone
//   loop      start, stop, step, initial values …
//   is_first, is_last   the loop variable
// A missing valid extent says: all of the tile, or (restrict, assemble) as far as the operand's own.
struct Node {
  OpCode op = OpCode::index_constant;
  Type type;
  std::vector<ValueId> operands;
  double number = 0;         // constant
  std::int64_t integer = 0;  // see OpCode
  std::int64_t integer2 = 0;
  int tensor = kNone;   // view, gather, assemble, index_load
  int row_dim = kNone;  // the tensor's dim along which rows run; kNone: one row
  int column_dim = kNone;
  int axis = 0;
  bool transposed = false;  // matmul
  bool parallel = false;    // loop: iterations are independent and may run in any order and at once
  BlockId body = kNone;     // loop
  Plan plan;
  bool operator==(const Node&) const = default;
};

// A sequence of nodes. `arguments` of a loop's body: its variable, then the carried tiles; `yields`: their next values.
struct Block {
  std::string variable;  // how the loop variable is called, for readers
  std::vector<ValueId> arguments;
  std::vector<ValueId> nodes;
  std::vector<ValueId> yields;
  bool operator==(const Block&) const = default;
};

struct Program {
  std::string name;
  std::vector<std::string> dims;
  std::vector<TensorParameter> tensors;
  std::vector<ScalarParameter> scalars;
  std::vector<TileParameter> tiles;
  std::vector<Node> nodes;
  std::vector<Block> blocks;  // 0 is the program's own

  const Node& node(ValueId id) const { return nodes[static_cast<std::size_t>(id)]; }
  Node& node(ValueId id) { return nodes[static_cast<std::size_t>(id)]; }
  const Block& block(BlockId id) const { return blocks[static_cast<std::size_t>(id)]; }
  Block& block(BlockId id) { return blocks[static_cast<std::size_t>(id)]; }
  const TensorParameter& tensor(int i) const { return tensors[static_cast<std::size_t>(i)]; }
  bool operator==(const Program&) const = default;

  // The size of an extent; 0 for a parameter that is not chosen.
  std::int64_t size(const Extent& extent) const;
  // Which dims of tensor `i` must have unit stride because columns of some view, gather or assemble run along them.
  std::vector<bool> unit_stride(int i) const;
  // The valid extent of a tile along rows (axis 0) or columns (axis 1): an index value, or kNone where all is valid.
  // Elementwise ops take the one their operands agree on (verify/ demands that), reductions that of the other axis.
  ValueId valid_extent(ValueId tile, int axis) const;
};

// One step of valid_extent: `of(operand, axis)` answers for the operands.
ValueId valid_extent_rule(const Program& program, ValueId tile, int axis,
                          const std::function<ValueId(ValueId, int)>& of);

// The words of a node's position in Node::operands.
inline constexpr int kLoopStart = 0, kLoopStop = 1, kLoopStep = 2, kLoopInitial = 3;
// Where a tensor access's offsets begin among its operands, and its valid extents.
inline int first_offset(OpCode op) { return op == OpCode::view || op == OpCode::index_load ? 0 : 1; }
inline ValueId valid_operand(const Node& node, int axis) {
  return node.operands[node.operands.size() - 2 + static_cast<std::size_t>(axis)];
}
inline bool accesses_tensor(OpCode op) {
  return op == OpCode::view || op == OpCode::gather || op == OpCode::assemble || op == OpCode::index_load;
}

}  // namespace tilewright::tile

// What a chain of small ops computes for one row of its outputs, as a graph of row-wide values: reads of tensors,
// arithmetic, roundings and reductions. Made from a trace with all extents known; row_program.h writes the tile
// program, in which they are symbols again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/core/derive/trace.h"
#include "tile/ir/opcode.h"

namespace tilewright::ops {

// A part of a row: columns begin … begin + length - 1.
struct RowPart {
  std::int64_t begin = 0, length = 0;
  auto operator<=>(const RowPart&) const = default;
};

struct RowNode {
  enum class Kind : std::uint8_t {
    leaf,     // columns `part` of tensor `index`, widened to f32 (bool stays)
    number,   // `value`
    scalar,   // scalar `index` of the chain
    extent,   // the number of columns of whole rows of `part`.length, as f32
    compute,  // `op` of the arguments
    round,    // to `dtype` and back
    reduce,   // `op` (reduce_sum or reduce_max) over all columns of the arguments: the parts of a row
  };
  Kind kind = Kind::number;
  tile::OpCode op = tile::OpCode::add;
  DType dtype = DType::f32;  // f32 or b8; of a round: what is rounded to
  int index = 0;
  double value = 0;
  RowPart part = {};   // where the node's columns lie
  bool single = true;  // one value for the whole row
  std::vector<int> arguments = {};
};

// A tensor as the rows of one nest of loops see it.
struct RowTensor {
  bool output = false;
  int source = 0;  // index of an input or output of the chain
  DType dtype = DType::f32;
  std::int64_t offset = 0;            // elements from the source's first
  std::vector<std::int64_t> strides;  // along each dim of the nest
  std::int64_t width = 0;
  bool single = false;  // one element for all columns
};

struct RowOutput {
  int node = 0, tensor = 0;
  RowPart part;
};

// Outputs of one shape, computed row by row.
struct RowNest {
  std::vector<std::int64_t> extents;  // of the dims that tell rows apart
  // Parts of rows are known by number (after slices and concatenations); otherwise every part is a whole row and widths
  // are symbols.
  bool fixed = false;
  std::vector<RowTensor> tensors;
  std::vector<RowNode> nodes;  // arguments come first
  std::vector<RowOutput> outputs;
  bool reduces() const;
};

struct RowScalar {
  std::string name;
  double value = 0;
};
struct RowGraph {
  std::vector<RowNest> nests;
  std::vector<RowScalar> scalars;
};

struct ChainInput {
  std::string name;
  Tensor tensor;
};
// `value` is what a call of the chain made; it is written to `target`, a tensor of its dtype and shape.
struct ChainOutput {
  std::string name;
  Tensor value, target;
};

// Why a chain has no row-wise program, as a phrase a user can read.
struct NotRowWise {
  std::string reason;
};

// Intermediates stay f32: a rounding that comes only from storing one is dropped, the chain's own casts (`to`) and the
// roundings of outputs are kept. Throws NotRowWise.
RowGraph row_graph(std::span<const TracedCall> chain, std::span<const ChainInput> inputs,
                   std::span<const ChainOutput> outputs);

// Joins dims of a nest that all its tensors step through as one, and leaves out those of extent 1; without reductions
// whole rows join too.
void collapse(RowNest& nest);

}  // namespace tilewright::ops

// The tile program of a row graph: loops over rows, and over columns in chunks of a chosen size, so that one program
// serves any number of rows and any width.
#pragma once

#include "ops/core/derive/row_graph.h"
#include "tile/ir/program.h"

namespace tilewright::ops {

// Brings the nests' dims to the number that the program will have (1, or 3 and more): dims of one row more are free.
void pad(RowGraph& graph);

// Tensors in the order of the nests and their tensors, scalars as in the graph. Three forms of a nest:
//   no reduction: rows and chunks of columns are both parallel;
//   reductions: for each level of them one loop over chunks with carried results, then one that writes. What costs
//     (exp …) and would be computed twice is kept: rows that fit a chunk go to a second nest that holds them whole;
//   fixed parts: whole rows, part by part.
// Throws NotRowWise if rows have too many dims.
tile::Program row_program(const std::string& name, const RowGraph& graph, std::span<const ChainInput> inputs,
                          std::span<const ChainOutput> outputs);

}  // namespace tilewright::ops

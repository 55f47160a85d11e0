// What a program costs on a target, without running it: bytes, operations, buffers, time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tile/cost/tile_target.h"
#include "tile/ir/program.h"

namespace tilewright::tile {

struct CostQuestion {
  std::map<std::string, std::int64_t> dims;     // by name; others count as `other_dims`
  std::map<std::string, std::int64_t> scalars;  // i64 ones, by name; others count as `other_dims`
  std::int64_t other_dims = 2048;
};

struct TileCost {
  double bytes_read = 0, bytes_written = 0;  // from and to memory: tensors that the cache holds are read once
  double bytes_moved = 0;                    // between tensors and tiles
  double vector_flops = 0;                   // elements of arithmetic, reductions and moves
  double special_flops = 0;                  // exp, log, sqrt, …
  double matrix_flops = 0;                   // of matmul, a multiply-add as two
  double nodes = 0;                          // operations on tiles that run
  double blocks = 1;                         // iterations of the grid
  std::int64_t buffer_bytes = 0;             // peak
  double seconds = 0;                        // max(memory, cache, arithmetic) + launch
};

// Loops count their trips at the given dims; in a nest, bounds are taken at the middle iteration and at the last one,
// so triangles count half and tails count as they are. What is read on the device counts as its largest possible value.
// Tile parameters that are not chosen count with their smallest choice.
TileCost predict_cost(const Program& program, const TileTarget& target, const CostQuestion& question = {});

}  // namespace tilewright::tile

// What tile programs are budgeted and costed for: the host, or a device of src/target's descriptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::tile {

struct TileTarget {
  std::string name;
  std::string buffer;             // "unified buffer", "L2 cache"
  std::int64_t buffer_bytes = 0;  // per core
  std::int64_t row_bytes = 1;     // rows of a tile begin at multiples of this
  bool only_stored = false;       // tiles without Plan::stored take no buffer (host)
  double cores = 1;
  double bandwidth = 0;                       // bytes per second, memory
  double cache_bytes = 0;                     // tensors that are smaller come from memory once
  double cache_bandwidth = 0;                 // bytes per second
  double vector_flops = 0, matrix_flops = 0;  // per second, all cores
  double special_flops = 0;                   // exp, log, sqrt … per second, elements
  std::int64_t lanes = 1;                     // f32 elements of a vector
  double launch_seconds = 0;
  double node_seconds = 0;  // of one operation on a tile, beside its elements
};

// "host" (limits stored by `tilewright doctor`, else those of a common processor) or a description's name ("910b2").
// Throws Error listing the names if there is no such target.
TileTarget tile_target(std::string_view name, std::string_view level = "avx2");

}  // namespace tilewright::tile

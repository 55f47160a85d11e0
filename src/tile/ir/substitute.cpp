#include "tile/ir/substitute.h"

namespace tilewright::tile {

Program with_tiles(Program program, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = 0; i < program.tiles.size(); ++i) program.tiles[i].chosen = sizes.at(i);
  for (Node& node : program.nodes) {
    for (Extent* extent : {&node.type.rows, &node.type.columns})
      if (!extent->fixed()) *extent = Extent(program.size(*extent));
    if (node.op == OpCode::index_constant && node.integer2 != 0) {
      node.integer = sizes.at(static_cast<std::size_t>(node.integer2 - 1));
      node.integer2 = 0;
    }
  }
  return program;
}

}  // namespace tilewright::tile

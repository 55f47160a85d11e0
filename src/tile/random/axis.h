// What tiles of random programs run along: an extent, and where in tensors it lies.
#pragma once

#include <optional>

#include "tile/build/builder.h"

namespace tilewright::tile {

struct Axis {
  int id = 0;
  Extent extent;
  Dim dim{1};        // of tensors along it
  Index offset = 0;  // where in such a dim the tile begins
  bool restricted = false;
  Index valid = 0;        // where restricted: how much of the extent has values
  bool by_node = false;   // restricted by `restrict`, not by a tensor's end
  std::int64_t most = 1;  // the largest size of the extent
  bool one() const { return extent.one(); }
  // Pieces of it can be cut out and put together.
  bool plain() const { return !restricted && extent.fixed(); }
};

}  // namespace tilewright::tile

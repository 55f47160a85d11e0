// One nest of a row graph: the row-wide values that some outputs of one shape need.
#pragma once

#include <vector>

#include "ops/core/derive/chain_index.h"

namespace tilewright::ops {

// `outputs`: numbers of the chain's outputs, all of one shape. Scalars are added to `graph`. Throws NotRowWise.
RowNest nest_of(const ChainIndex& chain, RowGraph& graph, const std::vector<int>& outputs);

}  // namespace tilewright::ops

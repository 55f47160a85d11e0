// The host's kernels for all small operators but the matrix products.
#pragma once

#include "ops/core/registry.h"

namespace tilewright::backends::host {

void add_small_candidates(ops::Registry& registry);

void add_elementwise_candidates(ops::Registry& registry);
void add_reduce_candidates(ops::Registry& registry);
void add_move_candidates(ops::Registry& registry);
void add_index_candidates(ops::Registry& registry);
void add_order_candidates(ops::Registry& registry);

// A candidate of kind small that refuses packed layouts and otherwise runs `run`.
void add_small(ops::Registry& registry, const char* op, void (*run)(ops::Context&, const ops::OpCall&));
std::string refuse_packed(ops::Context&, const ops::OpCall& call);

// Output bytes from which stores go past the caches: those of the last one.
std::int64_t streaming_bytes();
// Orders streamed stores before what follows; called once a block.
void streaming_fence();

}  // namespace tilewright::backends::host

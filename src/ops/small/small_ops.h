// The tables of small operators; register_small adds them all.
#pragma once

#include "ops/core/registry.h"

namespace tilewright::ops {

void register_small(Registry& registry);

void add_elementwise_ops(Registry& registry);
void add_reduce_ops(Registry& registry);
void add_move_ops(Registry& registry);
void add_index_ops(Registry& registry);
void add_order_ops(Registry& registry);
void add_matmul_ops(Registry& registry);

}  // namespace tilewright::ops

#include "ops/small/small_ops.h"

namespace tilewright::ops {

void register_small(Registry& registry) {
  add_elementwise_ops(registry);
  add_reduce_ops(registry);
  add_move_ops(registry);
  add_index_ops(registry);
  add_order_ops(registry);
  add_matmul_ops(registry);
}

}  // namespace tilewright::ops

#include "backends/host/small/small_candidates.h"

#include "base/cpu.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace tilewright::backends::host {

void add_small_candidates(ops::Registry& registry) {
  add_elementwise_candidates(registry);
  add_reduce_candidates(registry);
  add_move_candidates(registry);
  add_index_candidates(registry);
  add_order_candidates(registry);
}

std::string refuse_packed(ops::Context&, const ops::OpCall& call) {
  for (const ops::Tensor& t : call.inputs)
    if (t.defined() && t.layout() != ops::Layout::strided) return "an input is packed: " + t.describe();
  return {};
}

void add_small(ops::Registry& registry, const char* op, void (*run)(ops::Context&, const ops::OpCall&)) {
  registry.add_candidate(op, "host",
                         {.name = op, .kind = ops::CandidateKind::small, .refuse = refuse_packed, .run = run});
}

std::int64_t streaming_bytes() {
  static const std::int64_t bytes = [] {
    const long last = cpu_info().l3_bytes;
    return static_cast<std::int64_t>(last > 0 ? last : 32 << 20);
  }();
  return bytes;
}

void streaming_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace tilewright::backends::host

#include "ops/core/context.h"
#include "ops/grouped_gemm/grouped_gemm.h"
#include "ops/grouped_gemm/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kLinear{"linear"}, kFull{"full"};

// The groups' sizes decide what is launched, so the host waits for them. A device that does not compute holds none:
// there the rows are spread evenly.
HostTensor read_offsets(Context& context, const Tensor& offsets, std::int64_t rows) {
  if (context.device().computes()) {
    context.flush();
    return runtime::to_host(context.stream(), offsets);
  }
  HostTensor out(DType::i32, offsets.shape());
  const std::int64_t experts = out.elements() - 1;
  for (std::int64_t e = 1; e <= experts; ++e) out.set(e, static_cast<double>(rows * e / experts));
  return out;
}

Tensors run(Context& context, const OpCall& now) {
  now.op.schema.infer(now);  // views below abort on what does not fit
  const Tensor& x = now.input(0);
  const Tensor& weights = now.input(1);
  const std::int64_t rows = x.dim(0), experts = weights.dim(0);
  const HostTensor offsets = read_offsets(context, now.input(2), rows);
  check_group_offsets(offsets, rows);
  const std::int32_t* begin = offsets.data<std::int32_t>();
  const Shape shape{rows, weights.dim(1)};
  const bool all_rows = begin[0] == 0 && begin[experts] == rows;
  const Tensor out = all_rows ? context.empty(x.dtype(), shape)
                              : call(context, kFull, {}, {{"shape", shape}, {"value", 0.0}, {"dtype", x.dtype()}});
  for (std::int64_t e = 0; e < experts; ++e)
    if (begin[e] < begin[e + 1])
      call_into(context, kLinear, {x.slice(0, begin[e], begin[e + 1]), expert_matrix(weights, e)},
                out.slice(0, begin[e], begin[e + 1]));
  return {out};
}

}  // namespace

Decomposition grouped_gemm_decomposition() { return {{"linear", "full"}, run}; }

}  // namespace tilewright::ops

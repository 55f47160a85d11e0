#include "ops/grouped_gemm/parts.h"

namespace tilewright::ops {

std::vector<HostTensor> grouped_gemm_reference(std::span<const HostTensor> inputs, const Attributes&) {
  const HostTensor& x = inputs[0];
  const HostTensor& weights = inputs[1];
  const HostTensor& offsets = inputs[2];
  const std::int64_t rows = x.shape[0], inner = x.shape[1], experts = weights.shape[0], columns = weights.shape[1];
  check_group_offsets(offsets, rows);
  HostTensor out(x.dtype, {rows, columns});
  for (std::int64_t e = 0; e < experts; ++e)
    for (std::int64_t row = offsets.data<std::int32_t>()[e]; row < offsets.data<std::int32_t>()[e + 1]; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < inner; ++i)
          sum += x.at(row * inner + i) * weights.at((e * columns + column) * inner + i);
        out.set(row * columns + column, sum);
      }
  return {out};
}

}  // namespace tilewright::ops

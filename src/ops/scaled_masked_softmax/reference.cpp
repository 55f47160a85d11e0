#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/scaled_masked_softmax/parts.h"

namespace tilewright::ops {
namespace {

// A mask of the dtype's lowest value swallows the score, in f16 too, where a wider sum would not.
double lowest(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

}  // namespace

std::vector<HostTensor> scaled_masked_softmax_reference(std::span<const HostTensor> inputs,
                                                        const Attributes& attributes) {
  const HostTensor& scores = inputs[0];
  const double scale = attributes.number("scale", 1);
  const std::int64_t columns = scores.shape[3];
  Strides mask_strides;
  const bool masked = inputs.size() > 1 && !absent(inputs[1]);
  if (masked) mask_strides = broadcast_strides(inputs[1].shape, contiguous_strides(inputs[1].shape), scores.shape);
  HostTensor out(scores.dtype, scores.shape);
  std::vector<double> row(static_cast<std::size_t>(columns));
  Dims at = Dims::filled(4, 0);
  for (at[0] = 0; at[0] < scores.shape[0]; ++at[0])
    for (at[1] = 0; at[1] < scores.shape[1]; ++at[1])
      for (at[2] = 0; at[2] < scores.shape[2]; ++at[2]) {
        const std::int64_t first = ((at[0] * scores.shape[1] + at[1]) * scores.shape[2] + at[2]) * columns;
        double highest = -std::numeric_limits<double>::infinity();
        for (std::int64_t c = 0; c < columns; ++c) {
          double value = scores.at(first + c) * scale;
          if (masked) {
            const double mask = inputs[1].at(at[0] * mask_strides[0] + at[1] * mask_strides[1] +
                                             at[2] * mask_strides[2] + c * mask_strides[3]);
            value = mask <= lowest(scores.dtype) ? mask : value + mask;
          }
          row[static_cast<std::size_t>(c)] = value;
          highest = std::max(highest, value);
        }
        double sum = 0;
        for (double& value : row) sum += value = std::exp(value - highest);
        for (std::int64_t c = 0; c < columns; ++c) out.set(first + c, row[static_cast<std::size_t>(c)] / sum);
      }
  return {out};
}

}  // namespace tilewright::ops

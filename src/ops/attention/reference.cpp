#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/parts.h"

namespace tilewright::ops {
namespace {

// A mask of the dtype's lowest value swallows the score, in f16 too, where a wider sum would not.
double lowest_value(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

}  // namespace

std::vector<HostTensor> attention_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const HostTensor& q = inputs[0];
  const HostTensor& k = inputs[1];
  const HostTensor& v = inputs[2];
  const bool masked = inputs.size() > 3 && !absent(inputs[3]);
  const double scale = attributes.number("scale", 1);
  const std::int64_t batch = q.shape[0], heads = q.shape[1], rows = q.shape[2], width = q.shape[3];
  const std::int64_t kv_heads = k.shape[1], columns = k.shape[2];
  HostTensor out(q.dtype, {batch, rows, heads * width});
  HostTensor weights(q.dtype, {columns});  // the softmax is cast to q's dtype
  std::vector<double> scores(static_cast<std::size_t>(columns));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t s = 0; s < rows; ++s) {
        const std::int64_t query = ((b * heads + h) * rows + s) * width;
        const std::int64_t first = (b * kv_heads + h / (heads / kv_heads)) * columns * width;
        double highest = -std::numeric_limits<double>::infinity();
        for (std::int64_t c = 0; c < columns; ++c) {
          double dot = 0;
          for (std::int64_t i = 0; i < width; ++i) dot += q.at(query + i) * k.at(first + c * width + i);
          dot *= scale;
          if (masked) {
            const double mask = inputs[3].at(((inputs[3].shape[0] == 1 ? 0 : b) * rows + s) * columns + c);
            dot = mask <= lowest_value(q.dtype) ? mask : dot + mask;
          }
          scores[static_cast<std::size_t>(c)] = dot;
          highest = std::max(highest, dot);
        }
        double sum = 0;
        for (double& score : scores) sum += score = std::exp(score - highest);
        for (std::int64_t c = 0; c < columns; ++c) weights.set(c, scores[static_cast<std::size_t>(c)] / sum);
        for (std::int64_t i = 0; i < width; ++i) {
          double value = 0;
          for (std::int64_t c = 0; c < columns; ++c) value += weights.at(c) * v.at(first + c * width + i);
          out.set((b * rows + s) * heads * width + h * width + i, value);
        }
      }
  return {out};
}

}  // namespace tilewright::ops

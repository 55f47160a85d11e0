#include <cmath>

#include "ops/qk_norm_rope/parts.h"

namespace tilewright::ops {
namespace {

HostTensor head_form(const HostTensor& x, const HostTensor& weight, const HostTensor& cos, const HostTensor& sin,
                     double eps) {
  const std::int64_t batch = x.shape[0], rows = x.shape[1], width = weight.shape[0], heads = x.shape[2] / width;
  const std::int64_t half = width / 2;
  HostTensor y(x.dtype, {batch, heads, rows, width});
  HostTensor normal(x.dtype, {width});  // the norm's result is cast to x's dtype before the weight
  std::vector<double> weighted(static_cast<std::size_t>(width));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t s = 0; s < rows; ++s)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t from = ((b * rows + s) * heads + h) * width;
        double squares = 0;
        for (std::int64_t i = 0; i < width; ++i) squares += x.at(from + i) * x.at(from + i);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
        for (std::int64_t i = 0; i < width; ++i) {
          normal.set(i, x.at(from + i) * factor);
          weighted[static_cast<std::size_t>(i)] = normal.at(i) * weight.at(i);
        }
        const std::int64_t table = ((cos.shape[0] == 1 ? 0 : b) * rows + s) * width;
        const std::int64_t to = ((b * heads + h) * rows + s) * width;
        for (std::int64_t i = 0; i < half; ++i) {
          const double x1 = weighted[static_cast<std::size_t>(i)], x2 = weighted[static_cast<std::size_t>(i + half)];
          y.set(to + i, x1 * cos.at(table + i) - x2 * sin.at(table + i));
          y.set(to + i + half, x2 * cos.at(table + i + half) + x1 * sin.at(table + i + half));
        }
      }
  return y;
}

}  // namespace

std::vector<HostTensor> qk_norm_rope_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const double eps = attributes.number("eps", 1e-6);
  return {head_form(inputs[0], inputs[2], inputs[4], inputs[5], eps),
          head_form(inputs[1], inputs[3], inputs[4], inputs[5], eps)};
}

}  // namespace tilewright::ops

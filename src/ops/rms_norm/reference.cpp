#include <cmath>

#include "ops/rms_norm/parts.h"

namespace tilewright::ops {

std::vector<HostTensor> rms_norm_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const HostTensor& x = inputs[0];
  const HostTensor& weight = inputs[1];
  const double eps = attributes.number("eps", 1e-6);
  HostTensor y(x.dtype, x.shape);
  const std::int64_t width = x.shape.back();
  for (std::int64_t row = 0; row * width < x.elements(); ++row) {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += x.at(row * width + i) * x.at(row * width + i);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (std::int64_t i = 0; i < width; ++i) {
      y.set(row * width + i, x.at(row * width + i) * factor);  // the cast to x's dtype comes before the weight
      y.set(row * width + i, y.at(row * width + i) * weight.at(i));
    }
  }
  return {y};
}

}  // namespace tilewright::ops

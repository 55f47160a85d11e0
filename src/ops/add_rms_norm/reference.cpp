#include <cmath>

#include "ops/add_rms_norm/parts.h"

namespace tilewright::ops {

std::vector<HostTensor> add_rms_norm_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const HostTensor& x = inputs[0];
  const HostTensor& residual = inputs[1];
  const HostTensor& weight = inputs[2];
  const double eps = attributes.number("eps", 1e-6);
  HostTensor sum(x.dtype, x.shape), normed(x.dtype, x.shape);
  const std::int64_t width = x.shape.back();
  for (std::int64_t row = 0; row * width < x.elements(); ++row) {
    double squares = 0;
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i) {
      sum.set(i, residual.at(i) + x.at(i));  // an output, so the norm sees it as stored
      squares += sum.at(i) * sum.at(i);
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i) {
      normed.set(i, sum.at(i) * factor);  // the cast to x's dtype comes before the weight
      normed.set(i, normed.at(i) * weight.at(i % width));
    }
  }
  return {sum, normed};
}

}  // namespace tilewright::ops

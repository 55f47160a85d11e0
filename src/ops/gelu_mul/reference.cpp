#include <cmath>
#include <numbers>

#include "ops/gelu_mul/parts.h"

namespace tilewright::ops {

std::vector<HostTensor> gelu_mul_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const HostTensor& gate = inputs[0];
  const HostTensor& up = inputs[1];
  const bool tanh = attributes.text("approximate", "none") == "tanh";
  HostTensor y(gate.dtype, gate.shape);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const double g = gate.at(i);
    const double phi = tanh ? 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (g + 0.044715 * g * g * g)))
                            : 0.5 * std::erfc(-g / std::numbers::sqrt2);
    y.set(i, g * phi * up.at(i));
  }
  return {y};
}

}  // namespace tilewright::ops

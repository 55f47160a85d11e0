#include <cmath>

#include "ops/silu_mul/parts.h"

namespace tilewright::ops {

std::vector<HostTensor> silu_mul_reference(std::span<const HostTensor> inputs, const Attributes&) {
  const HostTensor& gate = inputs[0];
  const HostTensor& up = inputs[1];
  HostTensor y(gate.dtype, gate.shape);
  for (std::int64_t i = 0; i < y.elements(); ++i) y.set(i, gate.at(i) / (1 + std::exp(-gate.at(i))) * up.at(i));
  return {y};
}

}  // namespace tilewright::ops

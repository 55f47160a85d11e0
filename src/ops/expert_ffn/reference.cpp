#include <algorithm>
#include <cmath>

#include "ops/expert_ffn/parts.h"

namespace tilewright::ops {
namespace {

double activate(double gate, double up, const Attributes& a) {
  const std::string_view name = a.text("activation", "silu");
  if (name == "silu") return gate / (1 + std::exp(-gate)) * up;
  if (name == "gelu_tanh")
    return gate / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate))) * up;
  const double alpha = a.number("alpha", 1.702), limit = a.number("limit", 7);
  gate = std::min(gate, limit);
  return (std::clamp(up, -limit, limit) + 1) * gate / (1 + std::exp(-alpha * gate));
}

// Σ over i of x[i] · matrix[i].
double dot(const std::vector<double>& x, const HostTensor& matrix, std::int64_t at) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * matrix.at(at + static_cast<std::int64_t>(i));
  return sum;
}
double dot(const HostTensor& x, std::int64_t x_at, const HostTensor& matrix, std::int64_t at, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x.at(x_at + i) * matrix.at(at + i);
  return sum;
}

}  // namespace

std::vector<HostTensor> expert_ffn_reference(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const HostTensor& x = inputs[0];
  const HostTensor& gate = inputs[3];
  const HostTensor& down = inputs[4];
  const bool apart = inputs.size() > 5 && !absent(inputs[5]);
  const HostTensor& up = apart ? inputs[5] : gate;
  const std::int64_t width = x.shape[1], k = inputs[1].shape[1], experts = down.shape[0], inner = down.shape[2];
  const std::int64_t gate_rows = gate.shape[1], up_rows = up.shape[1], first_up = apart ? 0 : inner;
  HostTensor out(x.dtype, x.shape);
  std::vector<double> hidden(static_cast<std::size_t>(inner));
  for (std::int64_t token = 0; token < x.shape[0]; ++token) {
    std::vector<double> sums(static_cast<std::size_t>(width));
    for (std::int64_t slot = token * k; slot < (token + 1) * k; ++slot) {
      const auto e = static_cast<std::int64_t>(inputs[2].at(slot));
      if (e < 0 || e >= experts) continue;
      for (std::int64_t i = 0; i < inner; ++i)
        hidden[static_cast<std::size_t>(i)] =
            activate(dot(x, token * width, gate, (e * gate_rows + i) * width, width),
                     dot(x, token * width, up, (e * up_rows + first_up + i) * width, width), attributes);
      for (std::int64_t c = 0; c < width; ++c)
        sums[static_cast<std::size_t>(c)] += inputs[1].at(slot) * dot(hidden, down, (e * width + c) * inner);
    }
    for (std::int64_t c = 0; c < width; ++c) out.set(token * width + c, sums[static_cast<std::size_t>(c)]);
  }
  return {out};
}

}  // namespace tilewright::ops

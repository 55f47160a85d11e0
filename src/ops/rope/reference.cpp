#include "ops/rope/parts.h"

namespace tilewright::ops {
namespace {

HostTensor rotated(const HostTensor& x, const HostTensor& cos, const HostTensor& sin) {
  const std::int64_t heads = x.shape[1], rows = x.shape[2], width = x.shape[3], half = width / 2;
  HostTensor y(x.dtype, x.shape);
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t column = i % width, row = i / width % rows;
    const std::int64_t batch = cos.shape[0] == 1 ? 0 : i / (width * rows * heads);
    const std::int64_t at = (batch * rows + row) * width + column;
    const double turned = column < half ? -x.at(i + half) : x.at(i - half);
    y.set(i, x.at(i) * cos.at(at) + turned * sin.at(at));
  }
  return y;
}

}  // namespace

std::vector<HostTensor> rope_reference(std::span<const HostTensor> inputs, const Attributes&) {
  return {rotated(inputs[0], inputs[2], inputs[3]), rotated(inputs[1], inputs[2], inputs[3])};
}

}  // namespace tilewright::ops

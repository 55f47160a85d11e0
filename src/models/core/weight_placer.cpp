#include "models/core/weight_placer.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilewright::models {

using nn::Slot;
using ops::Tensor;

WeightPlacer::WeightPlacer(ops::Context& context, DType dtype)
    : context_(context), dtype_(dtype), packer_(context.registry().weight_packer(context.kernel_family())) {
  if (packer_ && packer_->layout(dtype) == ops::Layout::strided) packer_ = nullptr;
}

std::vector<Tensor> WeightPlacer::place(std::span<const Shape> parts) const {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (const Shape& part : parts) {
    TW_CHECK(part.rank() == 2 && part[1] == parts[0][1]);
    offsets.push_back(bytes);
    bytes += packer_ ? packer_->packed_bytes(dtype_, part[0], part[1])
                     : static_cast<std::size_t>(part.elements()) * dtype_size(dtype_);
  }
  const runtime::MemoryRef memory = context_.device().allocate(context_.stream(), bytes);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t n = parts[i][0], k = parts[i][1];
    const auto first = static_cast<std::int64_t>(offsets[i] / dtype_size(dtype_));
    out.push_back(packer_ ? ops::packed_view(*packer_, memory, offsets[i], dtype_, n, k)
                          : Tensor(memory, dtype_, parts[i], contiguous_strides(parts[i]), first));
  }
  return out;
}

void require_memory_for_weights(const ops::Context& context, std::uint64_t bytes, const std::string& model) {
  const std::uint64_t free = context.device().available_bytes();
  if (bytes <= free) return;
  fail({.what = "not enough memory for the weights of " + model,
        .where = context.device().name(),
        .expected = fmt::format("{} MiB", bytes >> 20),
        .found = fmt::format("{} MiB free", free >> 20),
        .fix = "use a smaller model, fewer --layers, a smaller --dtype, or free memory"});
}

std::span<const std::vector<Slot>> matrix_groups() {
  static const std::vector<std::vector<Slot>> kGroups = {
      {Slot::q, Slot::k, Slot::v}, {Slot::o}, {Slot::gate, Slot::up}, {Slot::down}};
  return kGroups;
}

}  // namespace tilewright::models

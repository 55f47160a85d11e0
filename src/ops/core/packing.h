// Packing weights for `linear` into the layout that a backend's kernels want, asked for when a model is loaded.
#pragma once

#include <cstddef>

#include "ops/core/context.h"

namespace tilewright::ops {

// A backend's answer. Packed parts of several weights with the same K may lie in one buffer, one after the other, so
// that one launch over all and one per part read the same bytes; every part starts on a panel border.
class WeightPacker {
 public:
  virtual ~WeightPacker() = default;
  virtual Layout layout(DType dtype) const = 0;  // strided: do not pack
  virtual std::size_t packed_bytes(DType dtype, std::int64_t n,
                                   std::int64_t k) const = 0;  // multiple of the panel's size
  // Submits launches that pack `source` [N, K] (strided, any row stride) into `destination` (layout(dtype), same
  // shape).
  virtual void pack(Context& context, const Tensor& source, const Tensor& destination) const = 0;
};

// A tensor of the packed layout over `memory` at `byte_offset`, shape [n, k]; nothing is written.
Tensor packed_view(const WeightPacker& packer, const runtime::MemoryRef& memory, std::size_t byte_offset, DType dtype,
                   std::int64_t n, std::int64_t k);

}  // namespace tilewright::ops

// Buffers for weights in the layout that a device's `linear` wants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/decoder_weights.h"
#include "ops/core/context.h"
#include "ops/core/packing.h"

namespace tilewright::models {

class WeightPlacer {
 public:
  WeightPlacer(ops::Context& context, DType dtype);

  // False: matrices stay row-major.
  bool packs() const { return packer_ != nullptr; }
  const ops::WeightPacker& packer() const { return *packer_; }
  // One buffer for matrices [n, k] of one k, the parts one after the other on panel borders. Nothing is written.
  std::vector<ops::Tensor> place(std::span<const Shape> parts) const;

 private:
  ops::Context& context_;
  DType dtype_;
  const ops::WeightPacker* packer_;
};

// Throws Error if the device has less memory left than the weights of `model` take. A system without enough may end the
// program instead of refusing an allocation.
void require_memory_for_weights(const ops::Context& context, std::uint64_t bytes, const std::string& model);

// Matrices that lie in one buffer, in this order.
std::span<const std::vector<nn::Slot>> matrix_groups();

}  // namespace tilewright::models

// What a tile program demands of a launch's arguments, and the values that a launch passes on.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/core/code_generator.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

class TileSignature {
 public:
  // Throws Error for a program that no launch could serve: too many tensors or values, or a symbolic dim that no tensor
  // has.
  explicit TileSignature(const tile::Program& program);

  // Why these arguments do not fit (dtype, rank, layout, an extent, one symbolic dim with two values, a stride), or
  // empty. If they fit, `values` holds what the kernel is called with. Outputs need no memory.
  std::string check(const TileArguments& arguments, std::array<std::int64_t, kMaxTileValues>& values) const;
  std::size_t value_count() const { return value_count_; }

  // Adds the tensors as buffers, read or written as the program does, and names the one that extents are read from.
  void add_buffers(const TileArguments& arguments, runtime::Launch& launch) const;

 private:
  struct TensorDemand {
    std::string name;
    DType dtype = DType::f32;
    bool written = false;
    bool holds_extents = false;  // an index is loaded from it
    std::vector<tile::TensorDim> shape;
    std::vector<bool> unit_stride;
  };
  std::string name_;
  std::vector<std::string> dims_;
  std::vector<TensorDemand> tensors_;
  std::vector<DType> scalars_;
  std::size_t value_count_ = 0;
};

}  // namespace tilewright::ops

// The definition of what a tile program means: plain loops, double arithmetic rounded to the node's dtype after every
// node (f32 nodes: to float), no plan, no fusion. Elements outside a valid extent are undefined; writing an undefined
// element, reading outside a tensor and using a tile parameter that is not chosen are faults (Error naming the node).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/host_tensor.h"
#include "tile/ir/program.h"

namespace tilewright::tile {

// A tensor argument: memory of the caller, strides in elements. Shape and strides of the parameter's rank.
struct TensorArgument {
  void* data = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};
struct Arguments {
  std::vector<TensorArgument> tensors;  // in the order of Program::tensors
  std::vector<double> scalars;          // in the order of Program::scalars
};

void interpret(const Program& program, const Arguments& arguments);

}  // namespace tilewright::tile

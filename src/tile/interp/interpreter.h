// The definition of what a tile program means: plain loops, double arithmetic rounded to the node's dtype after every
// node (f32 nodes: to float), no plan, no fusion. Elements outside a valid extent are undefined; writing an undefined
// element, reading outside a tensor, two parallel iterations writing one element and using a tile parameter that is
// not chosen are faults (Error naming the program, the node and the index). The rules: docs/tile-language.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/host_tensor.h"
#include "tile/interp/value.h"
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

// The values of all nodes at one moment of a run, by ValueId.
struct Environment {
  std::vector<std::int64_t> index;
  std::vector<TileValue> tile;
};

// Is told of every step, after it happened. Used to compute error bounds, to count and to print.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void computed(ValueId, const Environment&) {}
  // A loop's arguments have taken the values of `sources` (initial values, or what the body yielded).
  virtual void carried(std::span<const ValueId> /*arguments*/, std::span<const ValueId> /*sources*/,
                       const Environment&) {}
  // An element of `tile` was read from (view, gather) or written to (assemble) element `element` of tensor data.
  virtual void moved(ValueId /*node*/, std::size_t /*element of the tile*/, std::int64_t /*element of the tensor*/) {}
};

void interpret(const Program& program, const Arguments& arguments, Watcher* watcher = nullptr);

// The value of each symbolic dim. Throws Error where arguments do not fit the program: number, rank, fixed extents, one
// value per dim, unit strides, memory.
std::vector<std::int64_t> bind_arguments(const Program& program, const Arguments& arguments);

}  // namespace tilewright::tile

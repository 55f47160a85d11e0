// From a connected set of traced calls, with given inputs and outputs, to one tile program and how to call it. Used by
// derived kernels of composite operators (derived_kernel.h) and by `fuse` for chains found in a model.
#pragma once

#include <optional>
#include <string>

#include "ops/core/derive/row_graph.h"
#include "tile/ir/program.h"

namespace tilewright::ops {

// What to pass for a tensor of the program: a view of an input or an output of the chain.
struct TensorBinding {
  bool output = false;
  int source = 0;           // index of the input or output
  std::int64_t offset = 0;  // elements from the source tensor's own offset
  Shape shape;
  Strides strides;
  Tensor of(const Tensor& source_tensor) const;
};

// The program is the same for every number of rows and every width of whole rows; bindings and scalars hold for the
// extents of the trace.
struct DerivedProgram {
  tile::Program program;
  std::vector<TensorBinding> tensors;  // in the order of the program's
  std::vector<double> scalars;
};

struct Derived {
  std::optional<DerivedProgram> result;
  std::string reason;  // why there is none, as a phrase a user can read
};

// `calls` in order; an operand is an input of the chain (any tensor whose memory is that of one) or a view of an
// earlier call's result. Results that are read outside the chain must be among `outputs`, else they are never written.
// Only dtypes, shapes and strides of the targets count; when the program runs, none may overlap an input.
Derived derive(const std::string& name, std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
               std::span<const ChainOutput> outputs);

// A set of a trace's calls with what it takes from outside and what the rest needs of it.
struct Chain {
  std::vector<TracedCall> calls;
  std::vector<ChainInput> inputs;    // each tensor memory once, as first read
  std::vector<ChainOutput> outputs;  // results that a call outside reads, or nobody; written where the calls write them
};
// `members`: ascending positions in `trace`.
Chain chain_of(std::span<const TracedCall> trace, std::span<const int> members);

}  // namespace tilewright::ops

// The small ops that a decomposition, or a whole forward pass, calls: operators with their tensors, in order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/core/observer.h"
#include "ops/core/registry.h"

namespace tilewright::ops {

// A call of a small op. It holds its tensors, so that no two values of a trace share memory by reuse: an operand whose
// memory is that of an earlier call's output is a view of that output.
struct TracedCall {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  const char* path = "";
  OpCall call() const { return {*op, inputs, attributes, outputs}; }
};

// Watches a pass and keeps its calls of small ops. Meant for devices that do not compute: memory is held until the
// trace goes.
class CallTrace : public Observer {
 public:
  void call_ends(const OpCall& call, const char* path) override;
  std::span<const TracedCall> calls() const { return calls_; }

 private:
  std::vector<TracedCall> calls_;
};

// A tensor of the same dtype, shape, strides and layout in memory of its own that holds nothing: for asking about
// calls. `tensor` itself may lack memory.
Tensor stand_in(const Tensor& tensor);

// A call's decomposition, run on a device that keeps account of memory and nothing else. The inputs stand for the
// call's: same dtypes, shapes and strides, each in memory of its own (absent ones undefined).
struct DecompositionTrace {
  std::vector<TracedCall> calls;
  std::vector<Tensor> inputs;
  Tensors outputs;
};
DecompositionTrace trace_decomposition(const Registry& registry, const OpCall& call);

}  // namespace tilewright::ops

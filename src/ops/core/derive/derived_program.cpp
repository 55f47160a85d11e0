#include "ops/core/derive/derived_program.h"

#include "ops/core/derive/row_program.h"

namespace tilewright::ops {

Tensor TensorBinding::of(const Tensor& from) const {
  return Tensor(from.memory_ref(), from.dtype(), shape, strides, from.offset() + offset);
}

Derived derive(const std::string& name, std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
               std::span<const ChainOutput> outputs) {
  try {
    RowGraph graph = row_graph(calls, inputs, outputs);
    for (RowNest& nest : graph.nests) collapse(nest);
    pad(graph);
    DerivedProgram out;
    out.program = row_program(name, graph, inputs, outputs);
    for (const RowNest& nest : graph.nests)
      for (const RowTensor& tensor : nest.tensors) {
        TensorBinding binding{.output = tensor.output, .source = tensor.source, .offset = tensor.offset};
        for (std::size_t d = 0; d < nest.extents.size(); ++d) {
          binding.shape.push_back(nest.extents[d]);
          binding.strides.push_back(tensor.strides[d]);
        }
        binding.shape.push_back(tensor.width);
        binding.strides.push_back(1);
        out.tensors.push_back(std::move(binding));
      }
    for (const RowScalar& scalar : graph.scalars) out.scalars.push_back(scalar.value);
    return {std::move(out), ""};
  } catch (const NotRowWise& no) {
    return {std::nullopt, no.reason};
  }
}

}  // namespace tilewright::ops

#include "ops/core/derive/derived_program.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "ops/core/code_generator.h"
#include "ops/core/derive/row_program.h"

namespace tilewright::ops {

namespace {

constexpr std::size_t kMaxScalars = 16;  // of TileArguments

// A launch passes on so many tensors, strides and scalars.
void require_one_launch(const RowGraph& graph) {
  std::size_t tensors = 0, values = graph.scalars.size();
  for (const RowNest& nest : graph.nests) {
    tensors += nest.tensors.size();
    values += nest.extents.size() + 1 + nest.tensors.size() * (nest.extents.size() + 1);
  }
  if (tensors > runtime::kMaxBufferArgs)
    throw NotRowWise{
        fmt::format("it reads and writes {} tensors, a launch takes {}", tensors, runtime::kMaxBufferArgs)};
  if (values > kMaxTileValues || graph.scalars.size() > kMaxScalars)
    throw NotRowWise{fmt::format("it has {} dims, strides and scalars, a launch takes {}", values, kMaxTileValues)};
}

}  // namespace

Tensor TensorBinding::of(const Tensor& from) const {
  return Tensor(from.memory_ref(), from.dtype(), shape, strides, from.offset() + offset);
}

Derived derive(const std::string& name, std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
               std::span<const ChainOutput> outputs) {
  try {
    RowGraph graph = row_graph(calls, inputs, outputs);
    for (RowNest& nest : graph.nests) collapse(nest);
    pad(graph);
    require_one_launch(graph);
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
  } catch (const Error& error) {  // the tile language's own limits
    return {std::nullopt, error.text().what};
  }
}

Chain chain_of(std::span<const TracedCall> trace, std::span<const int> members) {
  Chain out;
  std::set<const runtime::Memory*> made, taken, read_inside, read_outside;
  std::size_t next = 0;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    const TracedCall& call = trace[k];
    const bool member = next < members.size() && members[next] == static_cast<int>(k);
    for (const Tensor& input : call.inputs) {
      if (!input.defined()) continue;
      const runtime::Memory* memory = &input.memory();
      (member ? read_inside : read_outside).insert(memory);
      if (member && !made.count(memory) && taken.insert(memory).second)
        out.inputs.push_back({fmt::format("in{}", out.inputs.size()), input});
    }
    if (!member) continue;
    ++next;
    out.calls.push_back(call);
    for (const Tensor& result : call.outputs) made.insert(&result.memory());
  }
  for (const TracedCall& call : out.calls)
    for (const Tensor& result : call.outputs)
      if (read_outside.count(&result.memory()) || !read_inside.count(&result.memory()))
        out.outputs.push_back({fmt::format("out{}", out.outputs.size()), result, result});
  return out;
}

}  // namespace tilewright::ops

#include "ops/core/derive/row_graph.h"

#include <algorithm>
#include <numeric>

#include "ops/core/derive/nest_builder.h"

namespace tilewright::ops {
namespace {

// Loops in the order in which the inputs lie, so that they are read in one run and what repeats along a dim (a rotary
// table for all heads) stays near; where inputs do not tell, as the outputs lie.
void sort_by_inputs(RowNest& nest) {
  const auto key = [&](std::size_t dim) {
    std::int64_t of_inputs = 0, of_outputs = 0;
    for (const RowTensor& t : nest.tensors) {
      std::int64_t& of = t.output ? of_outputs : of_inputs;
      of = std::max(of, t.strides[dim]);
    }
    return std::pair(of_inputs, of_outputs);
  };
  std::vector<std::size_t> order(nest.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  const auto sorted = [&](const std::vector<std::int64_t>& from) {
    std::vector<std::int64_t> out;
    for (const std::size_t dim : order) out.push_back(from[dim]);
    return out;
  };
  nest.extents = sorted(nest.extents);
  for (RowTensor& t : nest.tensors) t.strides = sorted(t.strides);
}

}  // namespace

bool RowNest::reduces() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const RowNode& node) { return node.kind == RowNode::Kind::reduce; });
}

RowGraph row_graph(std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
                   std::span<const ChainOutput> outputs) {
  const ChainIndex chain(calls, inputs, outputs);
  RowGraph graph;
  std::vector<bool> done(outputs.size(), false);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (done[i]) continue;
    std::vector<int> together;
    for (std::size_t j = i; j < outputs.size(); ++j)
      if (!done[j] && outputs[j].value.shape() == outputs[i].value.shape()) {
        done[j] = true;
        together.push_back(static_cast<int>(j));
      }
    graph.nests.push_back(nest_of(chain, graph, together));
  }
  return graph;
}

void collapse(RowNest& nest) {
  const auto drop = [&](std::size_t dim) {
    nest.extents.erase(nest.extents.begin() + static_cast<std::ptrdiff_t>(dim));
    for (RowTensor& t : nest.tensors) t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  };
  for (std::size_t i = nest.extents.size(); i-- > 0;)
    if (nest.extents[i] == 1) drop(i);
  // Outer dims first, as the outputs lie.
  const auto join = [&](std::size_t outer, std::size_t inner) {
    return std::all_of(nest.tensors.begin(), nest.tensors.end(),
                       [&](const RowTensor& t) { return t.strides[outer] == t.strides[inner] * nest.extents[inner]; });
  };
  bool again = true;
  while (again) {
    again = false;
    for (std::size_t i = 0; i < nest.extents.size() && !again; ++i)
      for (std::size_t j = 0; j < nest.extents.size() && !again; ++j) {
        if (i == j || !join(i, j)) continue;
        nest.extents[j] *= nest.extents[i];
        drop(i);
        again = true;
      }
  }
  sort_by_inputs(nest);
  // Whole rows: only where every tensor's rows follow each other.
  if (nest.fixed || nest.reduces()) return;
  for (std::size_t i = nest.extents.size(); i-- > 0;) {
    const bool follows = std::all_of(nest.tensors.begin(), nest.tensors.end(), [&](const RowTensor& t) {
      return t.single && !t.output ? t.strides[i] == 0 : t.strides[i] == t.width && !t.single;
    });
    if (!follows || nest.tensors.empty()) continue;
    const std::int64_t rows = nest.extents[i];
    for (RowTensor& t : nest.tensors)
      if (!t.single) t.width *= rows;
    for (RowNode& n : nest.nodes) n.part.length *= rows;
    for (RowOutput& o : nest.outputs) o.part.length *= rows;
    drop(i);
    i = nest.extents.size();
  }
}

}  // namespace tilewright::ops

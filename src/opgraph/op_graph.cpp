#include "opgraph/op_graph.h"

#include <algorithm>

namespace tilewright::opgraph {

double bytes_of(const TensorUse& use) {
  if (!use.defined()) return 0;
  double elements = 1;
  for (int i = 0; i < use.shape.rank(); ++i) {
    const bool repeats = use.layout == runtime::Layout::strided && use.strides[i] == 0 && use.shape[i] > 0;
    if (!repeats) elements *= static_cast<double>(use.shape[i]);
  }
  return elements * static_cast<double>(dtype_size(use.dtype));
}

TensorUse GraphTracer::use_of(const runtime::Tensor& tensor, int storage) const {
  return {storage, tensor.dtype(), tensor.layout(), tensor.shape(), tensor.strides(), tensor.offset()};
}

int GraphTracer::storage_of(const runtime::Tensor& tensor) {
  const auto [it, made_outside] = storages_.try_emplace(&tensor.memory(), static_cast<int>(graph_.storages.size()));
  if (made_outside) {
    graph_.storages.emplace_back();
    outside_.push_back(tensor.memory_ref());
  }
  return it->second;
}

void GraphTracer::call_begins(const ops::OpCall& call, const char* path) {
  OpenCall open;
  open.into = !call.outputs.empty();
  if (call.op.schema.kind == ops::OpKind::composite) {
    open.composite = static_cast<int>(graph_.composites.size());
    graph_.composites.push_back({&call.op, path, enclosing_.empty() ? -1 : enclosing_.back()});
    enclosing_.push_back(open.composite);
  }
  open_.push_back(open);
}

void GraphTracer::fused(const ops::OpCall&, std::string_view) {
  if (!open_.empty()) open_.back().fused = true;
}

void GraphTracer::call_ends(const ops::OpCall& call, const char* path) {
  const OpenCall open = open_.back();
  open_.pop_back();
  if (open.composite >= 0) enclosing_.pop_back();
  if (open.composite >= 0 && !open.fused) return;
  Node node{.op = &call.op,
            .attributes = call.attributes,
            .path = path,
            .composite = enclosing_.empty() ? -1 : enclosing_.back(),
            .fused = open.fused,
            .fresh = !open.into};
  const int number = static_cast<int>(graph_.nodes.size());
  const auto touch = [&](std::vector<int>& list) {
    if (list.empty() || list.back() != number) list.push_back(number);
  };
  for (const runtime::Tensor& input : call.inputs) {
    if (!input.defined()) {
      node.inputs.emplace_back();
      continue;
    }
    const int storage = storage_of(input);
    touch(graph_.storages[static_cast<std::size_t>(storage)].readers);
    node.inputs.push_back(use_of(input, storage));
  }
  for (const runtime::Tensor& output : call.outputs) {
    const bool in_place = std::any_of(call.inputs.begin(), call.inputs.end(), [&](const runtime::Tensor& input) {
      return input.defined() && &input.memory() == &output.memory();
    });
    if (open.into || in_place) {
      const int storage = storage_of(output);
      touch(graph_.storages[static_cast<std::size_t>(storage)].writers);
      node.outputs.push_back(use_of(output, storage));
      node.fresh = false;
      continue;
    }
    const int storage = static_cast<int>(graph_.storages.size());
    storages_[&output.memory()] = storage;
    graph_.storages.push_back({.producer = number});
    node.outputs.push_back(use_of(output, storage));
  }
  graph_.nodes.push_back(std::move(node));
}

}  // namespace tilewright::opgraph

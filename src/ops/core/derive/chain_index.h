// What was made by which call of a chain, who reads it, and how a view of a result lies in it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/core/derive/row_graph.h"

namespace tilewright::ops {

[[noreturn]] inline void refuse_chain(std::string reason) { throw NotRowWise{std::move(reason)}; }

// Thrown when a part of a row is met and the nest was begun with whole rows only.
struct NeedsParts {};

// For each dim of a tensor: the dim of the nest it runs along, or one of these.
using DimMap = std::vector<int>;
inline constexpr int kColumn = -1, kNowhere = -2;

class ChainIndex {
 public:
  ChainIndex(std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
             std::span<const ChainOutput> outputs)
      : calls(calls), inputs(inputs), outputs(outputs) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const TracedCall& one = calls[k];
      if (one.outputs.size() != 1) refuse_chain(one.op->schema.name + " has several results");
      for (const Tensor& input : one.inputs)
        if (input.defined()) readers_[&input.memory()].push_back(static_cast<int>(k));
      const runtime::Memory* made = &one.outputs[0].memory();
      if (producers_.count(made) || readers_.count(made))
        refuse_chain(one.op->schema.name + " writes a tensor that the chain has already used");
      producers_[made] = static_cast<int>(k);
    }
    for (const ChainOutput& output : outputs) written_.insert(&output.value.memory());
  }
  int producer(const Tensor& tensor) const {
    const auto found = producers_.find(&tensor.memory());
    return found == producers_.end() ? -1 : found->second;
  }
  int input(const Tensor& tensor) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].tensor.defined() && &inputs[i].tensor.memory() == &tensor.memory()) return static_cast<int>(i);
    refuse_chain(fmt::format("{} is neither an input of the chain nor made by it", tensor.describe()));
  }
  bool is_output(int call) const { return written_.count(&result(call).memory()) != 0; }
  const TracedCall& call(int k) const { return calls[static_cast<std::size_t>(k)]; }
  const Tensor& result(int k) const { return call(k).outputs[0]; }
  const std::string& name(int k) const { return call(k).op->schema.name; }
  // True if all that reads the result, through casts, is a softmax or a search for the largest.
  bool only_compared(int k) const {
    if (is_output(k)) return false;
    const auto found = readers_.find(&result(k).memory());
    if (found == readers_.end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [&](int reader) {
      return name(reader) == "softmax" || name(reader) == "amax" || (name(reader) == "to" && only_compared(reader));
    });
  }

  std::span<const TracedCall> calls;
  std::span<const ChainInput> inputs;
  std::span<const ChainOutput> outputs;

 private:
  std::unordered_map<const runtime::Memory*, int> producers_;
  std::unordered_map<const runtime::Memory*, std::vector<int>> readers_;
  std::set<const runtime::Memory*> written_;
};

// How an operand that is a view of a call's result lies in it.
struct ViewOfResult {
  DimMap map;              // of the result's dims
  std::int64_t shift = 0;  // of its columns
};

// `map`: of the view's dims. Throws NotRowWise where rows are cut or reshaped.
ViewOfResult look_through(const ChainIndex& chain, int producer, const Tensor& view, const DimMap& map);

}  // namespace tilewright::ops

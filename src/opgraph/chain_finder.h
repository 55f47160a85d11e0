// Finds chains of memory-bound calls that one row-wise kernel can do.
#pragma once

#include <string>
#include <vector>

#include "opgraph/chain_template.h"
#include "opgraph/op_graph.h"
#include "ops/core/derive/trace.h"

namespace tilewright::opgraph {

// One place in the graph.
struct FoundChain {
  std::vector<int> nodes;     // ascending
  std::vector<bool> outputs;  // by position in `nodes`: the result is read outside, or by nobody
};

// Chains with the same calls and geometry: mostly one in every layer.
struct ChainPattern {
  ChainTemplate shape;  // of the first instance; other instances may differ in path
  std::vector<FoundChain> instances;
  std::string reason;                // why it cannot be one kernel; empty: it can
  int launches_saved = 0;            // by each instance
  double bytes_saved = 0;            // by each instance: intermediates neither written nor read, inputs read once
  std::string composite;             // the composite op that all calls are part of, if there is one
  std::vector<std::string> crossed;  // otherwise the composite ops that the chain touches
};

// Grown from each call in order: a call joins if it reads a result of the set or makes an operand of it, if nothing
// between the first and the last call of the set reads what the set makes or writes what it reads (so that all of it
// can run at the place of the last one), and if a kernel can be derived of the whole. All outputs of a chain have one
// shape, so that nothing is computed twice. Calls that are left over though they are memory-bound and hang together are
// given as patterns with the reason.
std::vector<ChainPattern> find_chains(const OpGraph& graph);

ChainTemplate template_of(const OpGraph& graph, const FoundChain& chain);

// The rule about the place of the last call. `nodes` ascending.
bool can_wait_for_the_last(const OpGraph& graph, const std::vector<int>& nodes);

// The calls of `nodes` as a trace whose tensors hold nothing.
std::vector<ops::TracedCall> calls_of(const OpGraph& graph, const std::vector<int>& nodes);

}  // namespace tilewright::opgraph

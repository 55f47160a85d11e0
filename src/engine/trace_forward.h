// A forward pass as an operator graph, and the tensors of chosen calls of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/session.h"
#include "opgraph/op_graph.h"

namespace tilewright::engine {

enum class Regime { prefill, decode };
std::string_view regime_name(Regime regime);

// What is run: `tokens` token ids drawn from the vocabulary with `seed`. Prefill: all of them on an empty cache.
// Decode: the pass of one token after `tokens` others. Both with the head's last row and the choice of the next token.
struct TracedPass {
  Regime regime = Regime::prefill;
  std::int64_t tokens = 128;
  std::uint64_t seed = 1;
};

// The session must not rewrite what it runs (no found chains). Begins new sequences.
opgraph::OpGraph trace_forward(Session& session, const TracedPass& pass);

// Runs the pass again and keeps these nodes' calls, with the tensors of this run. Ops that write in place later change
// them: they hold data that the model works on, not always of the same moment.
std::map<int, ops::TracedCall> collect_calls(Session& session, const TracedPass& pass, const std::vector<int>& nodes);

}  // namespace tilewright::engine

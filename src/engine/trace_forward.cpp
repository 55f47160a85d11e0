#include "engine/trace_forward.h"

#include <algorithm>

#include "base/error.h"
#include "engine/observed.h"
#include "ops/core/derive/trace.h"

namespace tilewright::engine {
namespace {

class CallCollector : public opgraph::GraphTracer {
 public:
  explicit CallCollector(const std::vector<int>& nodes) {
    for (const int node : nodes) calls_[node];
  }
  void call_ends(const ops::OpCall& call, const char* path) override {
    const std::size_t before = graph().nodes.size();
    GraphTracer::call_ends(call, path);
    if (graph().nodes.size() == before) return;
    const auto wanted = calls_.find(static_cast<int>(before));
    if (wanted == calls_.end()) return;
    wanted->second = {&call.op,
                      call.attributes,
                      {call.inputs.begin(), call.inputs.end()},
                      {call.outputs.begin(), call.outputs.end()},
                      path};
  }
  std::map<int, ops::TracedCall> take() { return std::move(calls_); }

 private:
  std::map<int, ops::TracedCall> calls_;
};

HostTensor token_ids(std::int64_t vocabulary, const TracedPass& pass) {
  HostTensor out(DType::i64, {1, pass.tokens});
  std::uint64_t state = pass.seed;
  for (std::int64_t i = 0; i < pass.tokens; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    out.data<std::int64_t>()[i] = static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(vocabulary));
  }
  return out;
}

void run_pass(Session& session, const TracedPass& pass, ops::Observer& observer) {
  TW_CHECK(!session.chains());
  const HostTensor ids = token_ids(session.model().info().vocab_size, pass);
  const bool decode = pass.regime == Regime::decode;
  session.begin(1, pass.tokens + (decode ? 1 : 0));
  const auto whole = [&](const auto& tokens) { return session.best(session.last_logits(session.run(tokens))); };
  ops::Tensor token;
  if (decode) token = whole(ids);
  {
    const Observed observed(session.context(), &observer);
    token = decode ? whole(token) : whole(ids);
  }
  session.read_token(token);
}

}  // namespace

std::string_view regime_name(Regime regime) { return regime == Regime::prefill ? "prefill" : "decode"; }

opgraph::OpGraph trace_forward(Session& session, const TracedPass& pass) {
  opgraph::GraphTracer tracer;
  run_pass(session, pass, tracer);
  return tracer.graph();
}

std::map<int, ops::TracedCall> collect_calls(Session& session, const TracedPass& pass, const std::vector<int>& nodes) {
  CallCollector collector(nodes);
  run_pass(session, pass, collector);
  return collector.take();
}

}  // namespace tilewright::engine

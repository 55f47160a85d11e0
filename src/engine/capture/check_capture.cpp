#include "engine/capture/check_capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "engine/capture/capture_work.h"
#include "engine/capture/model_passes.h"
#include "engine/pass.h"
#include "engine/trace_forward.h"
#include "runtime/error_codes.h"

namespace tilewright::engine {
namespace {

using State = Mitigation::State;

constexpr std::int64_t kLongestContext = 4096;  // more would take memory for a cache that is only named
constexpr std::int64_t kRuns = 32;              // warm-ups and replays, each a position further

int count(const opgraph::OpGraph& graph, const char* op, const char* path = nullptr) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const opgraph::Node& node) {
    return (!op || node.op->schema.name == op) && (!path || node.path == path);
  }));
}

int count_composites(const opgraph::OpGraph& graph, const char* op) {
  return static_cast<int>(
      std::count_if(graph.composites.begin(), graph.composites.end(),
                    [&](const opgraph::CompositeCall& call) { return call.op->schema.name == op; }));
}

const CaptureFailure* failure_in(const CaptureCheck& check, std::initializer_list<int> codes) {
  for (const PassReport& pass : check.passes)
    if (pass.failure && std::find(codes.begin(), codes.end(), pass.failure->code) != codes.end()) return &*pass.failure;
  return nullptr;
}

std::vector<Mitigation> mitigations(const CaptureCheck& check, const opgraph::OpGraph& step) {
  using namespace runtime::code;
  std::vector<Mitigation> out;
  const auto add = [&](const char* name, State state, std::string reason) {
    out.push_back({name, state, std::move(reason)});
  };

  const int masks = count(step, "causal_mask");
  if (masks)
    add("prebuilt additive mask", State::applied,
        fmt::format("made {} a step on the device, from the position held there, for {} attention calls",
                    masks == 1 ? "once" : fmt::format("{} times", masks),
                    std::max(count_composites(step, "attention"), count(step, "attention"))));
  else
    add("prebuilt additive mask", State::not_needed, "no call takes a mask");

  if (const CaptureFailure* copy = failure_in(check, {kCaptureModeNotSupport, 107041, kInvalidParameter}))
    add("rotary cos/sin computed once", State::refused,
        fmt::format("the host copies in the midst of a pass ({}): a scaling that follows the length is "
                    "computed anew beyond its table",
                    copy->where));
  else if (const int rows = count(step, nullptr, "rotary_emb"))
    add("rotary cos/sin computed once", State::applied,
        fmt::format("a table of all positions lies in the state; a step gathers its rows in {} launches", rows));
  else
    add("rotary cos/sin computed once", State::not_needed, "no rotary embedding");

  int side = 0;
  for (const PassReport& pass : check.passes) side += pass.side_launches;
  if (side)
    add("eager attention instead of a side-stream kernel", State::refused,
        fmt::format("{} launches are on side streams, which return", side));
  else
    add("eager attention instead of a side-stream kernel", State::not_needed,
        "no launch of the captured passes is on a side stream");

  const int writes = count(step, "cache_write");
  if (const CaptureFailure* grown = failure_in(check, {kAicoreException}))
    add("fixed cache, position on the device", State::refused, "a shape grows: " + grown->where);
  else if (const CaptureFailure* baked = failure_in(check, {kModelExecute}))
    add("fixed cache, position on the device", State::refused, "a value of the host is baked in: " + baked->where);
  else if (writes)
    add("fixed cache, position on the device", State::applied,
        fmt::format("{} writes at a position that the graph reads and advances on the device", writes));
  else
    add("fixed cache, position on the device", State::not_needed, "the step writes no cache");

  const int routed = count(step, "topk") + count(step, "sort") + count_composites(step, "moe_gate_top_k");
  if (routed)
    add("experts chosen on the device", State::applied, fmt::format("{} routing calls, all on the device", routed));
  else
    add("experts chosen on the device", State::not_needed, "the model has no routed experts");
  add("static route (--route static)", State::not_needed,
      routed ? "the real route can be captured" : "the model has no routed experts");
  return out;
}

// The same without a replay: what the host does at that position.
PassReport last_position(Session& session, std::int64_t context) {
  CheckedPass pass = decode_pass(session, 1, context);
  PassReport out;
  out.name = fmt::format("decode step at {}", context - 1);
  pass.reset();
  try {
    runtime::Device& device = session.device();
    const double start = device.now();
    const auto graph = capture_work(session.stream(), runtime::CaptureMode::global, [&] {
      pass.run(session.context(), static_cast<int>(context - 2));  // behind a prompt of one
    });
    out.capture_s = device.now() - start;
    out.launches = static_cast<int>(graph->nodes.size());
    for (const runtime::GraphNode& node : graph->nodes) out.side_launches += node.stream != 0;
  } catch (const Error& error) {
    out.failure = failure_of(error);
  }
  return out;
}

}  // namespace

const char* mitigation_state_name(State state) {
  switch (state) {
    case State::applied:
      return "applied";
    case State::not_needed:
      return "not needed";
    case State::refused:
      return "refused";
  }
  return "?";
}

bool CaptureCheck::capturable() const {
  return std::none_of(passes.begin(), passes.end(), [](const PassReport& pass) { return pass.failure.has_value(); });
}

CaptureCheck check_capture(Session& session, const CaptureCheckOptions& options) {
  TW_CHECK(options.prompt >= 1 && options.prompt + kRuns < nn::kBucket);
  if (session.chains())
    fail({.what = "found chains cannot be captured: they hold launches back",
          .where = "--fuse found",
          .expected = "",
          .found = "",
          .fix = "leave `found` out where graphs are captured"});
  CaptureCheck out;
  out.target = options.target;
  const opgraph::OpGraph step = trace_forward(session, {.regime = Regime::decode, .tokens = options.prompt});
  if (!options.target.empty())
    out.findings = target_findings(options.target, step,
                                   trace_forward(session, {.regime = Regime::decode, .tokens = options.prompt + 1}));

  CheckedPass decode = decode_pass(session, options.prompt, options.prompt + kRuns);
  decode.timed_replays = options.timed_replays;
  out.passes.push_back(check_pass(session.context(), decode));
  const std::int64_t context =
      options.context ? options.context : std::min(session.model().info().context, kLongestContext);
  if (context > options.prompt + 2) out.passes.push_back(last_position(session, context));
  CheckedPass prompt = prompt_pass(session, options.prompt, options.prompt + kRuns);
  prompt.name = fmt::format("prompt of {} in {}", options.prompt, prefill_bucket(options.prompt));
  prompt.timed_replays = options.timed_replays;
  out.passes.push_back(check_pass(session.context(), prompt));
  out.mitigations = mitigations(out, step);
  session.stream().synchronize();
  return out;
}

}  // namespace tilewright::engine

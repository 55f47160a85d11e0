#include "engine/capture/check_pass.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/capture/capture_and_replay.h"
#include "engine/capture/capture_work.h"
#include "engine/capture/graph_difference.h"
#include "runtime/error_codes.h"

namespace tilewright::engine {
namespace {

using Bytes = std::vector<std::byte>;
using runtime::Graph;

class Check {
 public:
  Check(ops::Context& context, const CheckedPass& pass) : context_(context), stream_(context.stream()), pass_(pass) {
    report_.name = pass.name;
  }

  PassReport run() {
    pass_.reset();
    const Bytes first = eager(0), second = eager(1);
    try {
      captured(first, second);
      if (!report_.failure && pass_.timed_replays > 0) timed();
    } catch (const Error& error) {
      report_.failure = failure_of(error);
    }
    return std::move(report_);
  }

 private:
  Bytes eager(int which) {
    if (which == 1 && !pass_.moves_on) pass_.reset();
    return bytes(pass_.run(context_, which));
  }
  Bytes bytes(const ops::Tensor& tensor) { return runtime::to_host(stream_, tensor).bytes; }

  std::shared_ptr<Graph> capture(int which, ops::Tensor& out) {
    return capture_work(stream_, runtime::CaptureMode::global, [&] { out = pass_.run(context_, which); });
  }

  void captured(const Bytes& first, const Bytes& second) {
    runtime::Device& device = context_.device();
    ops::Tensor out, unused;
    pass_.reset();
    const double start = device.now();
    std::shared_ptr<Graph> graph = capture(0, out);
    report_.capture_s = device.now() - start;
    report_.launches = static_cast<int>(graph->nodes.size());
    for (const runtime::GraphNode& node : graph->nodes) report_.side_launches += node.stream != 0;
    std::vector<runtime::Binding> required, given;
    if (pass_.bindings) pass_.bindings(required, given);
    if (const std::optional<GraphDifference> grown = grown_launch(*graph, *capture(1, unused))) {
      report_.failure =
          likely_failure(runtime::code::kAicoreException,
                         {.what = "the next position needs launches of another size: shapes grow, a graph's cannot",
                          .where = grown->where,
                          .expected = "the same launches at both positions",
                          .found = grown->what,
                          .fix = ""});
      return;
    }

    const double instantiated = device.now();
    const std::unique_ptr<runtime::ExecutableGraph> executable = device.instantiate(graph);
    report_.instantiate_s = device.now() - instantiated;
    const runtime::GraphPlan& plan = executable->plan();
    report_.phases = static_cast<int>(plan.phases.size());
    report_.barriers_removed = plan.barriers_removed;
    report_.arena_bytes = plan.arena_bytes;
    report_.planned_bytes = plan.planned_bytes;
    executable->require(std::move(required));
    const auto replayed = [&](int which) {
      if (which == 1 && !pass_.moves_on) pass_.reset();
      stream_.replay(*executable, given);
      return bytes(out);
    };
    pass_.reset();
    const bool same = replayed(0) == first;
    const bool same_later = replayed(1) == second;
    if (!device.computes()) return;
    report_.compared = true;
    report_.equal = same && same_later;
    if (report_.equal) return;
    const std::optional<GraphDifference> baked = baked_value();
    report_.failure = likely_failure(
        runtime::code::kModelExecute,
        {.what = same ? "a replay at the next position differs from the eager pass: a value that the host computed is "
                        "baked into the graph"
                      : "a replay differs from the eager pass",
         .where = baked ? baked->where : "",
         .expected = "replays equal to eager passes bit for bit",
         .found = baked ? baked->what : "other outcomes of the same launches",
         .fix = "keep what changes from step to step in a tensor on the device, and read it there"});
  }

  std::optional<GraphDifference> baked_value() {
    constexpr int kCaptures = 4;
    std::vector<std::shared_ptr<Graph>> here, there;
    ops::Tensor unused;
    for (int i = 0; i < kCaptures; ++i) {
      here.push_back(capture(0, unused));
      there.push_back(capture(1, unused));
    }
    return baked_launch(here, there);
  }

  void timed() {
    pass_.reset();
    const ReplayTimes times = capture_and_replay(
        context_, [&](ops::Context& context) { pass_.run(context, 0); },
        {.replays = pass_.timed_replays, .before_each = pass_.moves_on ? std::function<void()>() : pass_.reset});
    report_.replay_s = times.seconds;
    report_.median_s = times.median_s;
    stream_.synchronize();
  }

  ops::Context& context_;
  runtime::Stream& stream_;
  const CheckedPass& pass_;
  PassReport report_;
};

}  // namespace

PassReport check_pass(ops::Context& context, const CheckedPass& pass) { return Check(context, pass).run(); }

}  // namespace tilewright::engine

#include "engine/capture/capture_and_replay.h"

#include <algorithm>

#include "base/error.h"
#include "engine/capture/capture_work.h"

namespace tilewright::engine {
namespace {

constexpr int kLeastReplays = 20;

void warm_up(ops::Context& context, const std::function<void(ops::Context&)>& work, const ReplayPlan& plan) {
  runtime::Device& device = context.device();
  const auto side = device.create_stream();
  const auto before = device.create_event(), after = device.create_event();
  ops::Context beside(context.registry(), *side, context.switches(), context.observer());
  beside.set_chooser(context.chooser());
  for (int i = 0; i < plan.warmups; ++i) {
    if (plan.before_each) plan.before_each();
    context.stream().record(*before);
    side->wait(*before);
    work(beside);
    side->record(*after);
    context.stream().wait(*after);
  }
  context.stream().synchronize();
}

}  // namespace

ReplayTimes capture_and_replay(ops::Context& context, const std::function<void(ops::Context&)>& work,
                               const ReplayPlan& plan) {
  TW_CHECK(plan.replays >= kLeastReplays);
  runtime::Device& device = context.device();
  runtime::Stream& stream = context.stream();
  warm_up(context, work, plan);

  ReplayTimes out;
  const double start = device.now();
  std::shared_ptr<runtime::Graph> graph = capture_work(stream, plan.mode, [&] { work(context); });
  const double captured = device.now();
  out.launches = static_cast<int>(graph->nodes.size());
  out.graph = device.instantiate(std::move(graph));
  out.capture_s = captured - start;
  out.instantiate_s = device.now() - captured;

  const auto first = device.create_event(), last = device.create_event();
  for (int i = 0; i < plan.replay_warmups + plan.replays; ++i) {
    if (plan.before_each) plan.before_each();
    stream.record(*first);
    stream.replay(*out.graph);
    stream.record(*last);
    stream.synchronize();
    if (i >= plan.replay_warmups) out.seconds.push_back(last->seconds_since(*first));
  }
  std::vector<double> sorted = out.seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  out.median_s = sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  out.best_s = sorted.front();
  return out;
}

}  // namespace tilewright::engine

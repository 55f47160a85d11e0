#include "measure/arm_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/fuse_list.h"
#include "engine/observed.h"
#include "measure/statistics.h"
#include "opgraph/chain_rewriter.h"
#include "tile/binary/compiler.h"

namespace tilewright::measure {
namespace {

constexpr std::size_t kMostReasons = 3;

engine::SessionOptions options_of(const Arm& arm, engine::SessionOptions options) {
  options.fuse = fuse_list(arm, options.fuse);
  if (!arm.fused) options.fuse_file.clear();
  return options;
}

}  // namespace

std::string refused_beforehand(const Arm& arm, const engine::SessionOptions& options) {
  if (!arm.graph || !arm.fused) return {};
  if (!engine::parse_fuse_list(options.fuse).found && options.fuse_file.empty()) return {};
  return "found chains hold launches back, so that they cannot be captured: leave `found` out";
}

ArmRun::ArmRun(std::shared_ptr<const engine::LoadedModel> loaded, const Arm& arm, const engine::SessionOptions& options)
    : arm_(arm), session_(std::move(loaded), options_of(arm, options)), runner_(session_, arm.submission()) {}

ArmRun::Account::Account(ArmRun& arm) : arm_(arm), before_(tile::compile_seconds()) {}
ArmRun::Account::~Account() { arm_.compile_s_ += tile::compile_seconds() - before_; }

void ArmRun::prepare(const Pass& pass) {
  const Account account(*this);
  const double before = tile::compile_seconds();
  session_.prepare(pass.batch, arm_.graph ? engine::prefill_bucket(pass.prompt) : pass.prompt, pass.length());
  const double tuned = tile::compile_seconds();
  if (const ops::Tuner* tuner = session_.tuner()) tune_s_ = std::max(0.0, tuner->report().seconds - (tuned - before));
  runner_.begin(pass.batch, pass.length());
  runner_.prepare(pass.prompt, pass.length());
  captured_compiling_s_ = tile::compile_seconds() - tuned;
  session_.device().synchronize();
}

ArmRun::Counts ArmRun::count(const Pass& pass) {
  const Account account(*this);
  begin_iteration(runner_, pass);
  const auto chains = [this] { return session_.chains() ? session_.chains()->counts().fused : 0; };
  const long before = chains();
  PassWatch watch(session_.context().switches());
  {
    const engine::Observed observed(session_.context(), &watch);
    if (pass.regime == Regime::prefill)
      runner_.prefill(pass.ids);
    else
      runner_.step();
    runner_.read_token();
  }
  Counts out{watch.launches(), watch.kernels(), watch.fallbacks(), watch.coverage()};
  if (chains() > before) out.kernels.push_back({"found chains", "derived", "", chains() - before});
  return out;
}

std::string ArmRun::refusal(const Counts& counts) {
  if (!arm_.fused || !counts.kernels.empty()) return {};
  std::string reasons;
  std::size_t named = 0;
  for (const KernelUse& use : counts.fallbacks) {
    if (use.candidate == "decomposition" && counts.fallbacks.size() > 1) continue;
    if (named++ == kMostReasons) break;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", use.op, use.reason);
  }
  if (reasons.empty())
    reasons = session_.tuner() ? "nothing was measured to be faster fused" : "the model calls none of the composites";
  return "no fused kernel ran in this pass (" + reasons + ")";
}

ArmRun::Watched ArmRun::watch(const Pass& pass, int iterations, const std::atomic<bool>* interrupted) {
  const Account account(*this);
  const engine::Observed unobserved(session_.context(), nullptr);
  runtime::Device& device = session_.device();
  std::vector<double> first, between, submitting;
  for (int i = 0; i < iterations; ++i) {
    runner_.begin(pass.batch, pass.length());
    device.synchronize();
    const double start = device.now();
    runner_.prefill(pass.ids);
    const double submitted = device.now();
    runner_.read_token();
    double last = device.now();
    first.push_back(last - start);
    if (pass.regime == Regime::prefill) submitting.push_back(submitted - start);
    for (std::int64_t step = 0; step < pass.steps; ++step) {
      stop_if(interrupted);
      const double before = device.now();
      runner_.step();
      submitting.push_back(device.now() - before);
      runner_.read_token();
      const double now = device.now();
      between.push_back(now - last);
      last = now;
    }
  }
  Watched out;
  if (!submitting.empty()) out.submitting_s = median(submitting);
  if (!between.empty()) {
    double sum = 0;
    for (const double each : between) sum += each;
    out.latency = Latency{median(first), sum / static_cast<double>(between.size()), quantile(between, 0.5),
                          quantile(between, 0.9), quantile(between, 0.99)};
  }
  return out;
}

OnceCosts ArmRun::once() const {
  const engine::Runner::Costs& costs = runner_.costs();
  return {.load_s = session_.load_seconds(),
          .compile_s = compile_s_,
          .tune_s = tune_s_,
          .capture_s = std::max(0.0, costs.rehearsal_s + costs.capture_s - captured_compiling_s_),
          .instantiate_s = costs.instantiate_s,
          .graphs = costs.graphs};
}

std::optional<GraphFacts> ArmRun::graph_facts(const Pass& pass) const {
  if (!arm_.graph) return {};
  const runtime::ExecutableGraph* graph =
      pass.regime == Regime::prefill ? runner_.prefill_graph(pass.prompt) : runner_.decode_graph(pass.length() - 1);
  if (!graph) return {};
  const runtime::GraphPlan& plan = graph->plan();
  return GraphFacts{static_cast<std::int64_t>(graph->graph().nodes.size()),
                    static_cast<std::int64_t>(plan.phases.size()), plan.barriers_removed, plan.arena_bytes,
                    plan.planned_bytes};
}

ArmMemory ArmRun::memory() const {
  const runtime::MemoryStats stats = session_.stream().memory_stats();
  return {stats.allocated, stats.peak, stats.reserved, false};
}

}  // namespace tilewright::measure

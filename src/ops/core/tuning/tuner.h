// `--fuse auto`: measures once which way to run a call is fastest on this device, keeps that, and chooses by it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ops/core/chooser.h"
#include "ops/core/context.h"
#include "ops/core/tuning/time_call.h"
#include "ops/core/tuning/tuning_store.h"

namespace tilewright::ops {

// A call that was seen, with its tensors. Their contents need not be defined.
struct SeenCall {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<Tensor> inputs;
  bool measurable = true;  // whole numbers among its inputs hold what they hold in a real pass
  OpCall call() const { return {*op, inputs, attributes, {}}; }
};

// Keeps the calls of composites, each geometry once, inner ones before those that they are part of.
class CallCollector : public Observer {
 public:
  // `known`: memories whose contents are real; whole numbers in others make a call unmeasurable.
  explicit CallCollector(std::set<const runtime::Memory*> known) : known_(std::move(known)) {}
  void call_ends(const OpCall& call, const char* path) override;
  std::vector<SeenCall> take() { return std::move(calls_); }

 private:
  std::set<const runtime::Memory*> known_;
  std::set<std::uint64_t> seen_;
  std::vector<SeenCall> calls_;
};

// One thread, like the context that it serves.
class Tuner : public Chooser {
 public:
  using Measure = std::function<std::vector<ArmTimes>(Context&, const OpCall&, std::span<const Candidate* const>)>;
  explicit Tuner(TuningStore store, Measure measure = time_call);

  // Measures the classes among these calls for which no decision is stored, in this order, with what is decided
  // already, and stores the outcome; loads the code of kernels that were chosen, so that these calls are known when
  // they come. What is measured lets calls of earlier prepares be looked up anew. On a device that does not compute,
  // nothing is measured. Submits to `stream` and waits.
  void prepare(const Registry& registry, runtime::Stream& stream, std::span<const SeenCall> calls);

  // No allocation but where a geometry is seen for the first time. What was never measured is decided as the nearest
  // class that was, or runs its decomposition.
  const Candidate* choose(Context& context, const OpCall& call) override;
  void refused(const OpCall& call, const std::string& reason) override;

  struct Report {
    int classes = 0;     // of calls that `prepare` was given
    int measured = 0;    // of these, now
    int kernels = 0;     // ways to run them beside the decomposition that were timed
    double seconds = 0;  // spent in `prepare`, on the device's clock
    bool stored = true;  // what was measured is on disk
  };
  const Report& report() const { return report_; }
  const TuningStore& store() const { return store_; }
  // Adds what became of the calls since the last `prepare`.
  void add_counts(FallbackLog& log) const;

 private:
  struct Slot {
    std::uint64_t hash = 0;  // 0: free
    const Candidate* kernel = nullptr;
    const Op* op = nullptr;
    long count = 0;
    std::string reason;  // of a decomposition
  };
  Slot& slot_of(std::uint64_t hash);
  const Candidate* remember(Context& context, const OpCall& call, std::uint64_t hash);
  void forget(bool counts_too);

  TuningStore store_;
  Measure measure_;
  Report report_;
  std::set<std::string> classes_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  using Count = std::tuple<const Op*, const Candidate*, std::string>;
  std::map<Count, long> counts_;  // of slots that were given up
};

// What names a decision: the class and the candidates, in order.
std::string decision_key(const OpCall& call, const std::vector<Candidate>& candidates);

}  // namespace tilewright::ops

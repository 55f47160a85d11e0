#include "ops/core/tuning/tuner.h"

#include <algorithm>

namespace tilewright::ops {
namespace {

constexpr std::size_t kSlots = 2048;  // a power of two; given up and found anew when three quarters are taken
constexpr const char* kUnmeasured = "not measured on this device";
constexpr const char* kAsFast = "no kernel was measured to be faster";

bool whole_numbers(DType dtype) { return dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16; }

}  // namespace

std::string decision_key(const OpCall& call, const std::vector<Candidate>& candidates) {
  std::string out = call_class(call) + " |";
  for (const Candidate& candidate : candidates) out += " " + candidate.name + ";";
  return out;
}

void CallCollector::call_ends(const OpCall& call, const char*) {
  if (call.op.schema.kind != OpKind::composite || !seen_.insert(geometry_hash(call)).second) return;
  SeenCall seen{&call.op, call.attributes, {call.inputs.begin(), call.inputs.end()}, true};
  for (const Tensor& t : call.inputs)
    if (t.defined() && whole_numbers(t.dtype()) && !known_.count(&t.memory())) seen.measurable = false;
  calls_.push_back(std::move(seen));
}

Tuner::Tuner(TuningStore store, Measure measure)
    : store_(std::move(store)), measure_(std::move(measure)), slots_(kSlots) {}

void Tuner::prepare(const Registry& registry, runtime::Stream& stream, std::span<const SeenCall> calls) {
  runtime::Device& device = stream.device();
  Context context(registry, stream);
  context.set_chooser(this);
  const double start = device.now();
  int measured = 0;
  for (const SeenCall& seen : calls) {
    const OpCall call = seen.call();
    const std::vector<Candidate>* candidates = call.op.candidates_for(context.kernel_family());
    if (!candidates || candidates->empty() || !device.computes()) continue;
    const std::string key = decision_key(call, *candidates);
    if (!classes_.insert(key).second) continue;
    ++report_.classes;
    if (store_.find(key) || !seen.measurable) continue;
    std::vector<const Candidate*> kernels;
    for (const Candidate& candidate : *candidates)
      if (!candidate.refuse || candidate.refuse(context, call).empty()) kernels.push_back(&candidate);
    if (kernels.empty()) continue;
    store_.add(decide(key, measure_(context, call, kernels)));
    forget(true);
    ++measured;
    report_.kernels += static_cast<int>(kernels.size());
  }
  if (measured > 0) report_.stored = store_.save() && report_.stored;
  report_.measured += measured;
  for (const SeenCall& seen : calls) choose(context, seen.call());  // loads code where the loop will want it
  for (Slot& slot : slots_) slot.count = 0;
  counts_.clear();
  device.synchronize();
  report_.seconds += device.now() - start;
}

Tuner::Slot& Tuner::slot_of(std::uint64_t hash) {
  std::size_t at = hash & (kSlots - 1);
  while (slots_[at].hash != 0 && slots_[at].hash != hash) at = (at + 1) & (kSlots - 1);
  return slots_[at];
}

const Candidate* Tuner::choose(Context& context, const OpCall& call) {
  const std::uint64_t hash = geometry_hash(call) | 1;
  Slot& slot = slot_of(hash);
  if (slot.hash == 0) return remember(context, call, hash);
  ++slot.count;
  return slot.kernel;
}

const Candidate* Tuner::remember(Context& context, const OpCall& call, std::uint64_t hash) {
  if (used_ >= kSlots / 4 * 3) forget(false);
  const Candidate* kernel = nullptr;
  std::string reason = kUnmeasured;
  const std::vector<Candidate>* candidates = call.op.candidates_for(context.kernel_family());
  if (!candidates || candidates->empty()) {
    reason = "no kernel for " + context.kernel_family();
  } else {
    const std::string key = decision_key(call, *candidates);
    const Decision* decision = store_.find(key);
    if (!decision) decision = store_.nearest(key);
    if (decision)
      reason = kAsFast;
    else if (const Candidate& first = candidates->front(); first.refuse)
      if (std::string refusal = first.refuse(context, call); !refusal.empty()) reason = std::move(refusal);
    if (decision && decision->choice != kDecomposition)
      for (const Candidate& candidate : *candidates)
        if (candidate.name == decision->choice) {
          std::string refusal = candidate.refuse ? candidate.refuse(context, call) : std::string();
          if (refusal.empty())
            kernel = &candidate;
          else
            reason = std::move(refusal);
        }
  }
  Slot& slot = slot_of(hash);
  slot = {hash, kernel, &call.op, 1, kernel ? std::string() : std::move(reason)};
  ++used_;
  return kernel;
}

void Tuner::refused(const OpCall& call, const std::string& reason) {
  Slot& slot = slot_of(geometry_hash(call) | 1);
  if (slot.hash == 0) return;
  if (slot.count > 0) --slot.count;
  if (slot.count > 0) counts_[{slot.op, slot.kernel, slot.reason}] += slot.count;
  slot.kernel = nullptr;
  slot.reason = reason;
  slot.count = 1;
}

void Tuner::forget(bool counts_too) {
  for (Slot& slot : slots_) {
    if (slot.hash != 0 && slot.count > 0 && !counts_too) counts_[{slot.op, slot.kernel, slot.reason}] += slot.count;
    slot = {};
  }
  used_ = 0;
  if (counts_too) counts_.clear();
}

void Tuner::add_counts(FallbackLog& log) const {
  std::map<Count, long> all = counts_;
  for (const Slot& slot : slots_)
    if (slot.hash != 0 && slot.count > 0) all[{slot.op, slot.kernel, slot.reason}] += slot.count;
  std::vector<std::pair<Count, long>> ordered(all.begin(), all.end());  // pointers differ from run to run
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return std::get<0>(a.first)->index < std::get<0>(b.first)->index; });
  for (const auto& [what, count] : ordered) log.add(*std::get<0>(what), std::get<1>(what), std::get<2>(what), count);
}

}  // namespace tilewright::ops

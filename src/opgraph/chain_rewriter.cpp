#include "opgraph/chain_rewriter.h"

#include <algorithm>

namespace tilewright::opgraph {
namespace {

using ops::Candidate;
using ops::Context;
using ops::OpCall;
using ops::TracedCall;
using runtime::Launch;
using runtime::Memory;
using runtime::MemoryRef;
using runtime::Tensor;

constexpr std::size_t kMaxInFlight = 8;
constexpr std::size_t kMaxInputs = 16;  // of one call
constexpr int kNoForm = -1;

bool makes(const std::vector<TracedCall>& calls, const Memory* memory) {
  return std::any_of(calls.begin(), calls.end(),
                     [&](const TracedCall& call) { return &call.outputs[0].memory() == memory; });
}

bool touches(const TracedCall& call, const Memory* memory) {
  return &call.outputs[0].memory() == memory ||
         std::any_of(call.inputs.begin(), call.inputs.end(),
                     [&](const Tensor& t) { return t.defined() && &t.memory() == memory; });
}

}  // namespace

ChainRewriter::ChainRewriter(const ops::Registry& registry, const std::string& kernel_family,
                             std::vector<ChainTemplate> templates)
    : kernels_(registry, kernel_family), templates_(std::move(templates)) {
  for (std::size_t t = 0; t < templates_.size(); ++t) {
    step_forms_.emplace_back();
    for (const ChainStep& step : templates_[t].steps)
      step_forms_.back().push_back(forms_.try_emplace(step.path, static_cast<int>(forms_.size())).first->second);
    beginnings_[templates_[t].steps[0].op].push_back(static_cast<int>(t));
  }
}

void ChainRewriter::Instance::clear() {
  templates.clear();
  calls.clear();
  candidates.clear();
  inputs.clear();
}

bool ChainRewriter::Unwritten::reachable() const {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return r.memory.uses() > r.own; });
}
bool ChainRewriter::Unwritten::makes(const Memory* memory) const {
  return std::any_of(results.begin(), results.end(), [&](const Result& r) { return r.memory.get() == memory; });
}
bool ChainRewriter::Unwritten::reads(const Memory* memory) const {
  return std::any_of(calls.begin(), calls.end(), [&](const TracedCall& call) { return touches(call, memory); });
}

// The number of the path's form, if a template has it.
int ChainRewriter::form_of(const char* path) {
  auto& known = paths_[path];
  if (known.first != path || known.first.empty()) {  // a new path, or another one at the same place in memory
    const auto found = forms_.find(path_form(path));
    known = {path, found == forms_.end() ? kNoForm : found->second};
  }
  return known.second;
}

bool ChainRewriter::continues(int of_template, const Instance& instance, const OpCall& call, int form) const {
  const auto t = static_cast<std::size_t>(of_template);
  const std::size_t at = instance.calls.size();
  if (at >= templates_[t].steps.size() || step_forms_[t][at] != form) return false;
  const ChainStep& step = templates_[t].steps[at];
  if (at == 0 && call.outputs[0].elements() < templates_[t].least_elements) return false;
  if (step.op != &call.op || step.dtype != call.outputs[0].dtype() || step.inputs.size() != call.inputs.size() ||
      !same_attributes(step.attributes, call.attributes))
    return false;
  std::array<const Memory*, kMaxInputs> fresh;
  std::size_t fresh_inputs = 0;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const int from = step.inputs[i];
    if ((from == ChainStep::kAbsent) == call.inputs[i].defined()) return false;
    if (from == ChainStep::kAbsent) continue;
    const Memory* memory = &call.inputs[i].memory();
    if (from >= 0) {
      if (memory != &instance.calls[static_cast<std::size_t>(from)].outputs[0].memory()) return false;
      continue;
    }
    const auto number = static_cast<std::size_t>(-1 - from);
    if (number < instance.inputs.size()) {
      if (instance.inputs[number] != memory) return false;
      continue;
    }
    const std::size_t place = number - instance.inputs.size();
    if (place < fresh_inputs) {
      if (fresh[place] != memory) return false;
      continue;
    }
    const bool known = makes(instance.calls, memory) ||
                       std::find(instance.inputs.begin(), instance.inputs.end(), memory) != instance.inputs.end() ||
                       std::find(fresh.begin(), fresh.begin() + fresh_inputs, memory) != fresh.begin() + fresh_inputs;
    if (known || place != fresh_inputs || fresh_inputs == kMaxInputs) return false;
    fresh[fresh_inputs++] = memory;
  }
  return true;
}

bool ChainRewriter::hold(Context& context, const OpCall& call, const Candidate& candidate, bool fresh) {
  // What nobody else refers to any more will not be read.
  std::erase_if(unwritten_, [](const std::unique_ptr<Unwritten>& one) { return !one->reachable(); });
  if (running_ || !fresh || call.outputs.size() != 1) return false;
  const int form = form_of(context.path());
  if (form == kNoForm) return false;
  Instance* instance = nullptr;
  for (const std::unique_ptr<Instance>& one : in_flight_) {
    const auto goes_on = [&](int t) { return continues(t, *one, call, form); };
    if (!std::any_of(one->templates.begin(), one->templates.end(), goes_on)) continue;
    std::erase_if(one->templates, [&](int t) { return !goes_on(t); });
    instance = one.get();
    break;
  }
  if (!instance) {
    const auto beginnings = beginnings_.find(&call.op);
    if (beginnings == beginnings_.end()) return false;
    if (spare_.empty()) spare_.push_back(std::make_unique<Instance>());
    Instance& begun = *spare_.back();
    for (const int t : beginnings->second)
      if (continues(t, begun, call, form)) begun.templates.push_back(t);
    if (begun.templates.empty()) return false;
    instance = &begun;
    std::unique_ptr<Instance> taken = std::move(spare_.back());
    spare_.pop_back();
    if (in_flight_.size() >= kMaxInFlight) release(context, in_flight_[0].get(), "too many chains were in flight");
    in_flight_.push_back(std::move(taken));
  }
  append(context, call, candidate, instance);
  const bool done = std::any_of(instance->templates.begin(), instance->templates.end(), [&](int t) {
    return templates_[static_cast<std::size_t>(t)].steps.size() == instance->calls.size();
  });
  if (done) complete(context, instance);
  return true;
}

void ChainRewriter::append(Context& context, const OpCall& call, const Candidate& candidate, Instance* instance) {
  for (const Tensor& input : call.inputs) {
    if (!input.defined()) continue;
    for (std::size_t u = 0; u < unwritten_.size();)
      if (unwritten_[u]->makes(&input.memory()))
        make_up(context, u);
      else
        ++u;
    // Chains in flight stay independent of each other.
    for (std::size_t i = 0; i < in_flight_.size();)
      if (Instance* other = in_flight_[i].get(); other != instance && makes(other->calls, &input.memory()))
        release(context, other, "another chain reads its results");
      else
        ++i;
  }
  const ChainStep& step = templates_[static_cast<std::size_t>(instance->templates[0])].steps[instance->calls.size()];
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    if (step.inputs[i] == -1 - static_cast<int>(instance->inputs.size()))
      instance->inputs.push_back(&call.inputs[i].memory());
  instance->calls.push_back({&call.op,
                             call.attributes,
                             {call.inputs.begin(), call.inputs.end()},
                             {call.outputs.begin(), call.outputs.end()},
                             context.path()});
  instance->candidates.push_back(&candidate);
}

void ChainRewriter::submit(Context& context, const Launch& launch) {
  if (running_) return context.submit_now(launch);
  const auto conflicts = [&](const auto& makes, const auto& touches) {
    if (launch.device_extents && makes(launch.device_extents)) return true;
    return std::any_of(launch.buffers().begin(), launch.buffers().end(), [&](const runtime::BufferArg& b) {
      return b.memory && (makes(b.memory) || (b.write && touches(b.memory)));
    });
  };
  for (std::size_t u = 0; u < unwritten_.size();) {
    const Unwritten& one = *unwritten_[u];
    if (conflicts([&](const Memory* m) { return one.makes(m); }, [&](const Memory* m) { return one.reads(m); }))
      make_up(context, u);
    else
      ++u;
  }
  for (std::size_t i = 0; i < in_flight_.size();) {
    Instance* one = in_flight_[i].get();
    const bool conflict = conflicts([&](const Memory* m) { return makes(one->calls, m); },
                                    [&](const Memory* m) {
                                      return std::any_of(one->calls.begin(), one->calls.end(),
                                                         [&](const TracedCall& call) { return touches(call, m); });
                                    });
    if (conflict)
      release(context, one, std::string(launch.op) + " needs its results, or writes what it reads");
    else
      ++i;
  }
  context.submit_now(launch);
}

void ChainRewriter::complete(Context& context, Instance* instance) {
  std::vector<bool> outputs(instance->calls.size(), false);
  for (const int t : instance->templates) {
    const std::vector<ChainStep>& steps = templates_[static_cast<std::size_t>(t)].steps;
    if (steps.size() != instance->calls.size()) continue;
    for (std::size_t k = 0; k < steps.size(); ++k) outputs[k] = outputs[k] || steps[k].output;
  }
  Launch fused;
  if (const std::string reason = kernels_.make_launch(instance->calls, outputs, context.device(), fused);
      !reason.empty())
    return release(context, instance, reason);
  context.submit_now(fused);
  ++counts_.fused;
  counts_.dropped += static_cast<long>(instance->calls.size()) - 1;
  std::unique_ptr<Instance> done = take(instance);
  auto unwritten = std::make_unique<Unwritten>();
  for (std::size_t k = 0; k < done->calls.size(); ++k) {
    if (outputs[k]) continue;
    unwritten->results.push_back({done->calls[k].outputs[0].memory_ref(), 1});
    unwritten->calls.push_back(std::move(done->calls[k]));
    unwritten->candidates.push_back(done->candidates[k]);
  }
  done->clear();
  spare_.push_back(std::move(done));
  for (Unwritten::Result& result : unwritten->results)
    for (const TracedCall& call : unwritten->calls)
      for (const auto* list : {&call.inputs, &call.outputs})
        for (const Tensor& tensor : *list) result.own += tensor.defined() && &tensor.memory() == result.memory.get();
  if (!unwritten->results.empty()) unwritten_.push_back(std::move(unwritten));
}

void ChainRewriter::run(Context& context, const TracedCall& call, const Candidate& candidate) {
  const ops::PathScope scope(context, call.path);
  running_ = true;
  try {
    candidate.run(context, call.call());
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
}

std::unique_ptr<ChainRewriter::Instance> ChainRewriter::take(Instance* instance) {
  const auto place = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const std::unique_ptr<Instance>& one) { return one.get() == instance; });
  std::unique_ptr<Instance> out = std::move(*place);
  in_flight_.erase(place);
  return out;
}

void ChainRewriter::release(Context& context, Instance* instance, const std::string& reason) {
  ++counts_.unchanged[reason];
  std::unique_ptr<Instance> out = take(instance);
  for (std::size_t k = 0; k < out->calls.size(); ++k) run(context, out->calls[k], *out->candidates[k]);
  out->clear();
  spare_.push_back(std::move(out));
}

void ChainRewriter::make_up(Context& context, std::size_t which) {
  const std::unique_ptr<Unwritten> one = std::move(unwritten_[which]);
  unwritten_.erase(unwritten_.begin() + static_cast<std::ptrdiff_t>(which));
  if (!one->reachable()) return;
  ++counts_.remade;
  for (std::size_t k = 0; k < one->calls.size(); ++k) run(context, one->calls[k], *one->candidates[k]);
}

void ChainRewriter::flush(Context& context) {
  while (!in_flight_.empty()) release(context, in_flight_[0].get(), "the pass ended before it was complete");
  while (!unwritten_.empty()) make_up(context, 0);
}

}  // namespace tilewright::opgraph

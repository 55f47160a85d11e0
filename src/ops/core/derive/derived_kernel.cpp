#include "ops/core/derive/derived_kernel.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "ops/core/derive/trace.h"

namespace tilewright::ops {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 32);
}

// All of a call that a plan depends on, as numbers.
class Geometry {
 public:
  Geometry(std::int64_t owner, const OpCall& call) {
    add(owner);
    for (const Tensor& t : call.inputs) {
      if (!t.defined()) {
        add(-1);
        continue;
      }
      add(t.rank() | static_cast<int>(t.dtype()) << 8 | static_cast<int>(t.layout()) << 16);
      for (int i = 0; i < t.rank(); ++i) add(t.shape()[i]), add(t.strides()[i]);
    }
    for (const auto& [name, value] : call.attributes) {
      add(static_cast<std::int64_t>(OpName(name).hash));
      add_value(value);
    }
  }
  bool fits() const { return size_ <= kMax; }
  std::uint64_t hash() const { return hash_; }
  bool operator==(const Geometry& other) const {
    return hash_ == other.hash_ && size_ == other.size_ &&
           std::memcmp(numbers_.data(), other.numbers_.data(),
                       sizeof(std::int64_t) * static_cast<std::size_t>(size_)) == 0;
  }

 private:
  static constexpr int kMax = 160;
  void add(std::int64_t number) {
    if (size_ < kMax) numbers_[static_cast<std::size_t>(size_)] = number;
    ++size_;
    hash_ = mixed(hash_, static_cast<std::uint64_t>(number));
  }
  void add_value(const AttributeValue& value) {
    add(static_cast<std::int64_t>(value.index()));
    if (const auto* i = std::get_if<std::int64_t>(&value)) add(*i);
    if (const auto* d = std::get_if<double>(&value)) add(std::bit_cast<std::int64_t>(*d));
    if (const auto* b = std::get_if<bool>(&value)) add(*b ? 1 : 0);
    if (const auto* t = std::get_if<DType>(&value)) add(static_cast<int>(*t));
    if (const auto* s = std::get_if<std::string_view>(&value)) add(static_cast<std::int64_t>(OpName(*s).hash));
    if (const auto* dims = std::get_if<Dims>(&value))
      for (const std::int64_t n : *dims) add(n);
  }
  std::array<std::int64_t, kMax> numbers_;  // the first size_ are set
  int size_ = 0;
  std::uint64_t hash_ = 0;
};

struct Plan {
  explicit Plan(const Geometry& geometry) : geometry(geometry) {}
  Geometry geometry;
  std::string refusal;
  Specialisation specialisation;
  std::vector<TensorBinding> tensors;
  std::vector<double> scalars;
};

class DerivedKernel {
 public:
  DerivedKernel(const Registry& registry, const Op& op) : registry_(registry), op_(op) {}

  std::shared_ptr<const Plan> plan(const OpCall& call) {
    // A thread mostly asks again what it has just asked.
    thread_local std::array<std::shared_ptr<const Plan>, 16> recent;
    const Geometry geometry(number_, call);
    std::shared_ptr<const Plan>& slot = recent[geometry.hash() % recent.size()];
    if (slot && slot->geometry == geometry) return slot;
    slot = find(geometry, call);
    return slot;
  }

  tile::Program program(const Specialisation& specialisation) {
    const std::lock_guard lock(mutex_);
    const auto form = static_cast<std::size_t>(specialisation.numbers[0]);
    if (specialisation.numbers[0] < 0 || form >= forms_.size())
      fail({.what = "no such form of a derived kernel",
            .where = op_.schema.name,
            .expected = "a form that a call has led to: fewer than " + std::to_string(forms_.size()),
            .found = std::to_string(specialisation.numbers[0]),
            .fix = "derive from a call first"});
    return forms_[form];
  }

 private:
  static constexpr std::size_t kMaxPlans = 4096;

  std::shared_ptr<const Plan> find(const Geometry& geometry, const OpCall& call) {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = plans_.equal_range(geometry.hash());
    for (auto it = begin; it != end; ++it)
      if (it->second->geometry == geometry) return it->second;
    std::shared_ptr<const Plan> made = make(geometry, call);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    if (geometry.fits()) plans_.emplace(geometry.hash(), made);
    return made;
  }

  std::shared_ptr<const Plan> make(const Geometry& geometry, const OpCall& call) {
    auto out = std::make_shared<Plan>(geometry);
    if (!geometry.fits()) {
      out->refusal = "the call has too many arguments to derive a kernel for";
      return out;
    }
    Derived derived = derive_call(registry_, call);
    out->refusal = std::move(derived.reason);
    if (!derived.result) return out;
    std::size_t form = 0;
    while (form < forms_.size() && !(forms_[form] == derived.result->program)) ++form;
    if (form == forms_.size()) forms_.push_back(std::move(derived.result->program));
    out->specialisation.dtype = call.input(0).dtype();
    out->specialisation.numbers[0] = static_cast<std::int64_t>(form);
    out->tensors = std::move(derived.result->tensors);
    out->scalars = std::move(derived.result->scalars);
    return out;
  }

  // Tells kernels apart in what threads remember, also one that lies where another lay.
  static std::int64_t next_number() {
    static std::atomic<std::int64_t> last{0};
    return ++last;
  }

  const std::int64_t number_ = next_number();
  const Registry& registry_;
  const Op& op_;
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const Plan>> plans_;
  std::vector<tile::Program> forms_;
};

}  // namespace

bool may_derive(const Op& op) {
  return op.schema.kind == OpKind::composite && op.schema.memory_bound && op.decomposition.run;
}

Derived derive_call(const Registry& registry, const OpCall& call) {
  const DecompositionTrace trace = trace_decomposition(registry, call);
  std::vector<ChainInput> inputs;
  for (std::size_t i = 0; i < trace.inputs.size(); ++i) {
    const auto& names = call.op.schema.inputs;
    std::string name = names[std::min(i, names.size() - 1)].name;
    if (i >= names.size()) name += std::to_string(i - names.size() + 1);
    inputs.push_back({std::move(name), trace.inputs[i]});
  }
  std::vector<ChainOutput> outputs;
  const std::vector<OutputSpec> specs = call.op.schema.infer(call);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const OutputSpec& spec = specs[i];
    if (spec.alias_of_input >= 0) return {std::nullopt, "an input is written in place"};
    const Strides strides = spec.strides.rank() == spec.shape.rank() ? spec.strides : contiguous_strides(spec.shape);
    outputs.push_back({call.op.schema.outputs[i], trace.outputs[static_cast<int>(i)],
                       Tensor(runtime::MemoryRef(), spec.dtype, spec.shape, strides, 0)});
  }
  return derive(call.op.schema.name, trace.calls, inputs, outputs);
}

TileKernel derived_kernel(const Registry& registry, const Op& op) {
  const auto state = std::make_shared<DerivedKernel>(registry, op);
  TileKernel kernel;
  kernel.name = op.schema.name + ".derived";
  kernel.kind = CandidateKind::derived;
  kernel.numbers = {"form"};
  kernel.refuse = [state](const OpCall& call) { return state->plan(call)->refusal; };
  kernel.specialise = [state](const OpCall& call) { return state->plan(call)->specialisation; };
  kernel.build = [state](const Specialisation& specialisation) { return state->program(specialisation); };
  kernel.bind = [state](const OpCall& call) {
    const std::shared_ptr<const Plan> plan = state->plan(call);
    TileArguments out;
    for (const TensorBinding& binding : plan->tensors) {
      const auto source = static_cast<std::size_t>(binding.source);
      out.tensors.push_back(binding.of((binding.output ? call.outputs : call.inputs)[source]));
    }
    for (const double scalar : plan->scalars) out.scalars.push_back(scalar);
    return out;
  };
  return kernel;
}

}  // namespace tilewright::ops

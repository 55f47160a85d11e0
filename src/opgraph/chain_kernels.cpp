#include "opgraph/chain_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "ops/core/context.h"

namespace tilewright::opgraph {
namespace {

using ops::TracedCall;
using runtime::Tensor;

constexpr std::size_t kMaxPlans = 4096;
constexpr const char* kOpName = "chain";
const runtime::Kernel kNoKernel{"chain", nullptr};

// Numbers that tell one chain's calls and tensors from another's.
class Key {
 public:
  Key(std::vector<std::int64_t>& numbers, std::vector<Tensor>& inputs) : numbers_(numbers), inputs_(inputs) {
    numbers_.clear();
    inputs_.clear();
  }

  void add(std::span<const TracedCall> calls, const std::vector<bool>& outputs) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const TracedCall& call = calls[k];
      numbers_.push_back(call.op->index << 1 | (outputs[k] ? 1 : 0));
      numbers_.push_back(static_cast<std::int64_t>(call.inputs.size()) << 8 | call.attributes.size());
      for (const auto& [name, value] : call.attributes) {
        numbers_.push_back(static_cast<std::int64_t>(ops::OpName(name).hash));
        add_value(value);
      }
      for (const Tensor& input : call.inputs) add_operand(calls.first(k), input);
      add_geometry(call.outputs[0], 0);
    }
  }

 private:
  void add_value(const ops::AttributeValue& value) {
    numbers_.push_back(static_cast<std::int64_t>(value.index()));
    if (const auto* i = std::get_if<std::int64_t>(&value)) numbers_.push_back(*i);
    if (const auto* d = std::get_if<double>(&value)) numbers_.push_back(std::bit_cast<std::int64_t>(*d));
    if (const auto* b = std::get_if<bool>(&value)) numbers_.push_back(*b ? 1 : 0);
    if (const auto* t = std::get_if<DType>(&value)) numbers_.push_back(static_cast<int>(*t));
    if (const auto* s = std::get_if<std::string_view>(&value))
      numbers_.push_back(static_cast<std::int64_t>(ops::OpName(*s).hash));
    if (const auto* dims = std::get_if<Dims>(&value)) {
      numbers_.push_back(dims->rank());
      for (const std::int64_t n : *dims) numbers_.push_back(n);
    }
  }

  void add_operand(std::span<const TracedCall> before, const Tensor& tensor) {
    if (!tensor.defined()) {
      numbers_.push_back(-1);
      return;
    }
    for (std::size_t k = 0; k < before.size(); ++k)
      if (&before[k].outputs[0].memory() == &tensor.memory()) {
        numbers_.push_back(static_cast<std::int64_t>(k));
        add_geometry(tensor, before[k].outputs[0].offset());
        return;
      }
    std::size_t i = 0;
    while (i < inputs_.size() && &inputs_[i].memory() != &tensor.memory()) ++i;
    if (i == inputs_.size()) inputs_.push_back(tensor);
    numbers_.push_back(-2 - static_cast<std::int64_t>(i));
    add_geometry(tensor, inputs_[i].offset());
  }

  void add_geometry(const Tensor& tensor, std::int64_t origin) {
    numbers_.push_back(tensor.rank() | static_cast<int>(tensor.dtype()) << 8 | static_cast<int>(tensor.layout()) << 16);
    for (int i = 0; i < tensor.rank(); ++i) {
      numbers_.push_back(tensor.shape()[i]);
      numbers_.push_back(tensor.strides()[i]);
    }
    numbers_.push_back(tensor.offset() - origin);
  }

  std::vector<std::int64_t>& numbers_;
  std::vector<Tensor>& inputs_;
};

std::uint64_t hash_of(const std::vector<std::int64_t>& numbers) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::int64_t n : numbers) {
    hash = (hash ^ static_cast<std::uint64_t>(n)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

std::string phrase(const Error& error) {
  return error.text().what + (error.text().where.empty() ? "" : " (" + error.text().where + ")") +
         (error.text().fix.empty() ? "" : "; " + error.text().fix);
}

}  // namespace

ChainEnds ends_of(std::span<const TracedCall> calls, const std::vector<bool>& outputs) {
  ChainEnds out;
  std::vector<const runtime::Memory*> made, taken;
  const auto known = [](const std::vector<const runtime::Memory*>& list, const runtime::Memory* one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  for (std::size_t k = 0; k < calls.size(); ++k) {
    for (const Tensor& input : calls[k].inputs) {
      if (!input.defined() || known(made, &input.memory()) || known(taken, &input.memory())) continue;
      taken.push_back(&input.memory());
      out.inputs.push_back({fmt::format("in{}", out.inputs.size()), input});
    }
    const Tensor& result = calls[k].outputs[0];
    made.push_back(&result.memory());
    if (outputs[k]) out.outputs.push_back({fmt::format("out{}", out.outputs.size()), result, result});
  }
  return out;
}

ops::Derived derive_chain(std::span<const TracedCall> calls, const std::vector<bool>& outputs) {
  const ChainEnds ends = ends_of(calls, outputs);
  ops::Derived out = ops::derive(kOpName, calls, ends.inputs, ends.outputs);
  if (!out.result) return out;
  try {
    const ops::TileSignature fits(out.result->program);
  } catch (const Error& error) {
    return {std::nullopt, phrase(error)};
  }
  return out;
}

struct ChainKernels::Compiled {
  tile::Program program;
  std::unique_ptr<ops::TileSignature> signature;
  std::unique_ptr<ops::CompiledKernel> kernel;
  std::string refusal;
};

struct ChainKernels::Plan {
  std::vector<std::int64_t> key;
  std::string refusal;
  const Compiled* compiled = nullptr;
  std::vector<ops::TensorBinding> tensors;
  std::vector<int> output_calls;  // call of each output
  std::vector<double> scalars;
  runtime::Cost cost;
};

ChainKernels::ChainKernels(const ops::Registry& registry, const std::string& kernel_family) : family_(kernel_family) {
  const auto& generators = registry.code_generators();
  if (const auto found = generators.find(kernel_family); found != generators.end()) generator_ = found->second;
}

ChainKernels::~ChainKernels() = default;

const ChainKernels::Compiled& ChainKernels::compiled(const tile::Program& program) {
  for (const auto& known : compiled_)
    if (known->program == program) return *known;
  auto made = std::make_unique<Compiled>();
  made->program = program;
  try {
    made->signature = std::make_unique<ops::TileSignature>(program);
    made->kernel = generator_->compile(program);
  } catch (const Error& error) {
    made->refusal = phrase(error);
  }
  compiled_.push_back(std::move(made));
  return *compiled_.back();
}

std::unique_ptr<ChainKernels::Plan> ChainKernels::make_plan(std::span<const TracedCall> calls,
                                                            const std::vector<bool>& outputs) {
  auto plan = std::make_unique<Plan>();
  plan->key = key_;
  if (!generator_) {
    plan->refusal = "devices of the family " + family_ + " have no compiler for tile programs";
    return plan;
  }
  ops::Derived derived = derive_chain(calls, outputs);
  plan->refusal = derived.reason;
  if (!derived.result) return plan;
  plan->compiled = &compiled(derived.result->program);
  plan->refusal = plan->compiled->refusal;
  plan->tensors = std::move(derived.result->tensors);
  plan->scalars = std::move(derived.result->scalars);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    if (outputs[k]) plan->output_calls.push_back(static_cast<int>(k));
    if (calls[k].op->schema.flops) plan->cost.flops += calls[k].op->schema.flops(calls[k].call());
  }
  const ChainEnds ends = ends_of(calls, outputs);
  for (const ops::ChainInput& input : ends.inputs) plan->cost.bytes_read += ops::tensor_bytes({&input.tensor, 1});
  for (const ops::ChainOutput& output : ends.outputs) plan->cost.bytes_written += ops::tensor_bytes({&output.value, 1});
  return plan;
}

const ChainKernels::Plan& ChainKernels::plan(std::span<const TracedCall> calls, const std::vector<bool>& outputs) {
  Key(key_, inputs_).add(calls, outputs);
  const std::uint64_t hash = hash_of(key_);
  const auto [begin, end] = plans_.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->key == key_) return *it->second;
  if (plans_.size() >= kMaxPlans) plans_.clear();
  return *plans_.emplace(hash, make_plan(calls, outputs))->second;
}

std::string ChainKernels::make_launch(std::span<const TracedCall> calls, const std::vector<bool>& outputs,
                                      const runtime::Device& device, runtime::Launch& launch) {
  const Plan& plan = this->plan(calls, outputs);
  if (!plan.refusal.empty()) {
    inputs_.clear();
    return plan.refusal;
  }
  ops::TileArguments arguments;
  for (const ops::TensorBinding& binding : plan.tensors) {
    const auto source = static_cast<std::size_t>(binding.source);
    arguments.tensors.push_back(binding.of(
        binding.output ? calls[static_cast<std::size_t>(plan.output_calls[source])].outputs[0] : inputs_[source]));
  }
  inputs_.clear();
  for (const double scalar : plan.scalars) arguments.scalars.push_back(scalar);
  std::array<std::int64_t, ops::kMaxTileValues> values;
  if (std::string reason = plan.compiled->signature->check(arguments, values); !reason.empty()) return reason;
  launch.kernel = &kNoKernel;
  launch.op = kOpName;
  launch.path = calls[0].path;
  launch.cost = plan.cost;
  plan.compiled->signature->add_buffers(arguments, launch);
  plan.compiled->kernel->complete(launch, device, {values.data(), plan.compiled->signature->value_count()});
  return {};
}

}  // namespace tilewright::opgraph

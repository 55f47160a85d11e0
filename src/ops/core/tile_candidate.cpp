#include "ops/core/tile_candidate.h"

#include <atomic>
#include <mutex>

#include "base/error.h"
#include "ops/core/context.h"
#include "ops/core/tile_signature.h"

namespace tilewright::ops {
namespace {

const runtime::Kernel kNoKernel{"tile", nullptr};

// What became of one specialisation. Never changed once it is published.
struct Compiled {
  Specialisation specialisation;
  std::unique_ptr<TileSignature> signature;
  std::unique_ptr<CompiledKernel> kernel;
  std::string refusal;  // why there is no kernel
  const Compiled* next = nullptr;
};

class KernelRunner {
 public:
  KernelRunner(std::shared_ptr<const TileKernel> kernel, std::shared_ptr<CodeGenerator> generator)
      : kernel_(std::move(kernel)), generator_(std::move(generator)) {}
  KernelRunner(const KernelRunner&) = delete;
  ~KernelRunner() {
    for (const Compiled* one = first_.load(); one;) delete std::exchange(one, one->next);
  }

  // `submit` false: only asks; the outputs may lack memory.
  std::string attempt(Context& context, const OpCall& call, bool submit) {
    if (kernel_->refuse)
      if (std::string reason = kernel_->refuse(call); !reason.empty()) return reason;
    const Compiled& compiled = find(kernel_->specialise ? kernel_->specialise(call) : Specialisation{});
    if (!compiled.kernel) return compiled.refusal;
    const TileArguments arguments = kernel_->bind(call);
    std::array<std::int64_t, kMaxTileValues> values;
    if (std::string reason = compiled.signature->check(arguments, values); !reason.empty() || !submit) return reason;
    runtime::Launch launch = make_launch(kNoKernel, call);
    compiled.signature->add_buffers(arguments, launch);
    compiled.kernel->complete(launch, context.device(), {values.data(), compiled.signature->value_count()});
    context.submit(launch);
    return {};
  }

 private:
  static const Compiled* find_in(const Compiled* list, const Specialisation& wanted) {
    while (list && !(list->specialisation == wanted)) list = list->next;
    return list;
  }

  const Compiled& find(const Specialisation& wanted) {
    if (const Compiled* known = find_in(first_.load(std::memory_order_acquire), wanted)) return *known;
    const std::lock_guard lock(mutex_);
    if (const Compiled* known = find_in(first_.load(std::memory_order_acquire), wanted)) return *known;
    auto made = std::make_unique<Compiled>();
    made->specialisation = wanted;
    try {
      const tile::Program program = kernel_->build(wanted);
      made->signature = std::make_unique<TileSignature>(program);
      made->kernel = generator_->compile(program);
    } catch (const Error& error) {
      made->refusal = error.text().what + (error.text().where.empty() ? "" : " (" + error.text().where + ")") +
                      (error.text().fix.empty() ? "" : "; " + error.text().fix);
    }
    made->next = first_.load(std::memory_order_relaxed);
    first_.store(made.get(), std::memory_order_release);
    return *made.release();
  }

  std::shared_ptr<const TileKernel> kernel_;
  std::shared_ptr<CodeGenerator> generator_;
  std::mutex mutex_;
  std::atomic<const Compiled*> first_{nullptr};  // a list that only grows: read without a lock
};

// The outputs as they would be, without memory.
Tensors imagined_outputs(const OpCall& call) {
  Tensors out;
  for (const OutputSpec& spec : call.op.schema.infer(call)) {
    if (spec.alias_of_input >= 0)
      out.push_back(call.input(spec.alias_of_input));
    else
      out.push_back(Tensor(runtime::MemoryRef(), spec.dtype, spec.shape,
                           spec.strides.rank() == spec.shape.rank() ? spec.strides : contiguous_strides(spec.shape),
                           0));
  }
  return out;
}

}  // namespace

Candidate tile_candidate(std::shared_ptr<const TileKernel> kernel, std::shared_ptr<CodeGenerator> generator) {
  const auto runner = std::make_shared<KernelRunner>(kernel, std::move(generator));
  Candidate out;
  out.name = kernel->name;
  out.kind = kernel->kind;
  out.refuse = [runner](Context& context, const OpCall& call) {
    if (!call.outputs.empty()) return runner->attempt(context, call, false);
    const Tensors outputs = imagined_outputs(call);
    return runner->attempt(context, OpCall{call.op, call.inputs, call.attributes, outputs.span()}, false);
  };
  out.attempt = [runner](Context& context, const OpCall& call) { return runner->attempt(context, call, true); };
  out.run = [runner](Context& context, const OpCall& call) {
    if (const std::string reason = runner->attempt(context, call, true); !reason.empty())
      fail({.what = "the kernel does not serve the call " + call.describe() + ": " + reason,
            .where = context.path(),
            .expected = "",
            .found = "",
            .fix = ""});
  };
  return out;
}

}  // namespace tilewright::ops

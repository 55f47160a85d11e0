// Passed along a forward pass: where to submit, which composites may fuse, who watches. No globals.
#pragma once

#include <initializer_list>
#include <span>

#include "ops/core/chooser.h"
#include "ops/core/observer.h"
#include "ops/core/registry.h"
#include "ops/core/switches.h"
#include "runtime/device.h"

namespace tilewright::ops {

class Context;

// Holds back, replaces or passes on work (what `fuse` found in a user's model). If a context has one, every call of a
// small op is offered to it, and every launch of the others goes through it.
class Rewriter {
 public:
  virtual ~Rewriter() = default;
  // A small op's call that `candidate` serves; outputs are known and allocated. `fresh`: in memory that is theirs
  // alone. True: nothing is submitted; the rewriter replaces the call or runs `candidate` on a copy of it later (under
  // the path that the context has now). The candidate lives as long as the registry.
  virtual bool hold(Context& context, const OpCall& call, const Candidate& candidate, bool fresh) = 0;
  // A launch of anything else; passed on by Context::submit_now.
  virtual void submit(Context& context, const runtime::Launch& launch) = 0;
  // Afterwards everything is on the stream.
  virtual void flush(Context& context) = 0;
};

class Context {
 public:
  Context(const Registry& registry, runtime::Stream& stream, const Switches& switches = Switches{},
          Observer* observer = nullptr, Rewriter* rewriter = nullptr);

  const Registry& registry() const { return *registry_; }
  runtime::Stream& stream() const { return *stream_; }
  runtime::Device& device() const { return stream_->device(); }
  const std::string& kernel_family() const { return kernel_family_; }
  const Switches& switches() const { return switches_; }
  Observer* observer() const { return observer_; }
  void set_observer(Observer* observer) { observer_ = observer; }
  Rewriter* rewriter() const { return rewriter_; }
  void set_rewriter(Rewriter* rewriter);  // flushes the one before
  const char* path() const { return path_; }
  // Decides about composites whose switch is off; null: they run their decomposition. Must outlive its use here.
  Chooser* chooser() const { return chooser_; }
  void set_chooser(Chooser* chooser) { chooser_ = chooser; }

  Tensor empty(DType dtype, const Shape& shape) { return runtime::empty(*stream_, dtype, shape); }
  // Sets launch.path and hands it to the rewriter or the stream.
  void submit(runtime::Launch& launch);
  // Hands it to the stream; observers see it.
  void submit_now(const runtime::Launch& launch);
  // Passes on what the rewriter holds back. Needed before the host reads results or waits for them, before other code
  // submits work to the stream or writes to tensors of the pass, and at the end of a pass.
  void flush();

 private:
  friend class PathScope;
  const Registry* registry_;
  runtime::Stream* stream_;
  Switches switches_;
  Observer* observer_;
  Rewriter* rewriter_;
  Chooser* chooser_ = nullptr;
  std::string kernel_family_;
  const char* path_ = "";
};

// Names the module whose launches follow, for as long as it lives. `path` must outlive the launches (models keep their
// paths).
class PathScope {
 public:
  PathScope(Context& context, const char* path) : context_(context), before_(context.path_) { context.path_ = path; }
  ~PathScope() { context_.path_ = before_; }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  Context& context_;
  const char* before_;
};

// Calls an operator: infers its outputs, selects how to run it and submits the launches. Small ops: the first candidate
// of the device's kernel family that does not refuse; none left is an Error with all reasons. Composite ops: if
// switched on, the first kernel that does not refuse; else what the context's chooser says, if there is one; otherwise
// the decomposition. On a device that does not compute, a
// small op without a candidate becomes one launch without a kernel.
Tensors call_all(Context& context, OpName op, std::initializer_list<Tensor> inputs, const Attributes& attributes = {});
Tensors call_all(Context& context, OpName op, std::span<const Tensor> inputs, const Attributes& attributes = {});
// The same for ops with one output.
Tensor call(Context& context, OpName op, std::initializer_list<Tensor> inputs, const Attributes& attributes = {});

// A small op with one output that is written to `output`, as with an eager framework's out=: a contiguous tensor (rows
// of a larger one) of the dtype and shape that the op infers.
void call_into(Context& context, OpName op, std::initializer_list<Tensor> inputs, const Tensor& output,
               const Attributes& attributes = {});

// Runs exactly this candidate (or the decomposition if null), whatever the switches say. For checking and timing.
Tensors call_candidate(Context& context, const Op& op, const Candidate* candidate, std::span<const Tensor> inputs,
                       const Attributes& attributes);

// A launch with op name and cost filled in from the call and its schema; buffers: none yet.
runtime::Launch make_launch(const runtime::Kernel& kernel, const OpCall& call);

}  // namespace tilewright::ops

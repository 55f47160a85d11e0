#include "ops/core/context.h"

#include "base/error.h"
#include "ops/core/packing.h"

namespace tilewright::ops {
namespace {

// The call's own output if it names one (call_into).
Tensors allocate_outputs(Context& context, const OpCall& call) {
  Tensors out;
  for (const OutputSpec& spec : call.op.schema.infer(call)) {
    if (!call.outputs.empty()) {
      const Tensor& given = call.outputs[static_cast<std::size_t>(out.size())];
      TW_CHECK(given.dtype() == spec.dtype && given.shape() == spec.shape && given.contiguous());
      out.push_back(given);
    } else if (spec.alias_of_input >= 0) {
      out.push_back(call.input(spec.alias_of_input));
    } else if (spec.strides.rank() == spec.shape.rank() && spec.shape.rank() > 0) {
      Tensor dense = context.empty(spec.dtype, spec.shape);
      out.push_back(Tensor(dense.memory_ref(), spec.dtype, spec.shape, spec.strides, 0));
    } else {
      out.push_back(context.empty(spec.dtype, spec.shape));
    }
  }
  return out;
}

void watch_refusal(Context& context, const OpCall& call, std::string_view candidate, const std::string& reason) {
  if (context.observer()) context.observer()->refused(call, candidate, reason);
}

void watch_fused(Context& context, const OpCall& call, std::string_view candidate) {
  if (context.observer()) context.observer()->fused(call, candidate);
}

bool writes_input(const OpCall& call) {
  for (const Tensor& output : call.outputs)
    for (const Tensor& input : call.inputs)
      if (input.defined() && &input.memory() == &output.memory()) return true;
  return false;
}

Tensors run_candidate(Context& context, const OpCall& call, const Candidate& candidate) {
  Tensors outputs = allocate_outputs(context, call);
  const OpCall known{call.op, call.inputs, call.attributes, outputs.span()};
  const bool offered = context.rewriter() && call.op.schema.kind == OpKind::small;
  if (offered && context.rewriter()->hold(context, known, candidate, call.outputs.empty() && !writes_input(known)))
    return outputs;
  candidate.run(context, known);
  return outputs;
}

Tensors run_without_kernel(Context& context, const OpCall& call) {
  static const runtime::Kernel nothing{"nothing", nullptr};
  Tensors outputs = allocate_outputs(context, call);
  const OpCall known{call.op, call.inputs, call.attributes, outputs.span()};
  runtime::Launch launch = make_launch(nothing, known);
  for (const Tensor& t : call.inputs)
    if (t.defined()) launch.add_buffer(runtime::read_arg(t));
  for (const Tensor& t : outputs.span()) launch.add_buffer(runtime::write_arg(t));
  context.submit(launch);
  return outputs;
}

// Empty if the candidate served the call; else why it does not.
std::string try_candidate(Context& context, const OpCall& call, const Candidate& candidate, Tensors& outputs) {
  std::string reason;
  if (candidate.attempt) {
    outputs = allocate_outputs(context, call);
    reason = candidate.attempt(context, OpCall{call.op, call.inputs, call.attributes, outputs.span()});
  } else {
    if (candidate.refuse) reason = candidate.refuse(context, call);
    if (reason.empty()) outputs = run_candidate(context, call, candidate);
  }
  if (!reason.empty())
    watch_refusal(context, call, candidate.name, reason);
  else if (call.op.schema.kind == OpKind::composite)
    watch_fused(context, call, candidate.name);
  return reason;
}

Tensors run_as_chosen(Context& context, Chooser& chooser, const OpCall& call) {
  if (const Candidate* kernel = chooser.choose(context, call)) {
    Tensors outputs;
    const std::string reason = try_candidate(context, call, *kernel, outputs);
    if (reason.empty()) return outputs;
    chooser.refused(call, reason);
  }
  return call.op.decomposition.run(context, call);
}

Tensors select_and_run(Context& context, const OpCall& call) {
  const std::vector<Candidate>* candidates = call.op.candidates_for(context.kernel_family());
  const bool composite = call.op.schema.kind == OpKind::composite;
  if (composite && !context.switches().on(call.op)) {
    if (Chooser* chooser = context.chooser()) return run_as_chosen(context, *chooser, call);
    return call.op.decomposition.run(context, call);
  }
  std::string reasons;
  for (std::size_t i = 0; candidates && i < candidates->size(); ++i) {
    Tensors outputs;
    const std::string reason = try_candidate(context, call, (*candidates)[i], outputs);
    if (reason.empty()) return outputs;
    reasons += "\n    " + (*candidates)[i].name + ": " + reason;
  }
  if (composite) {
    watch_refusal(context, call, "decomposition",
                  candidates ? "every kernel refused" : "no kernel for " + context.kernel_family());
    return call.op.decomposition.run(context, call);
  }
  if (!context.device().computes()) return run_without_kernel(context, call);
  fail({.what = "no kernel of this device serves the call " + call.describe() + reasons,
        .where = context.path(),
        .expected = "",
        .found = "",
        .fix = reasons.empty() ? "run on another device" : ""});
}

Tensors watch_and_run(Context& context, const OpCall& call) {
  if (!context.observer()) return select_and_run(context, call);
  context.observer()->call_begins(call, context.path());
  Tensors outputs = select_and_run(context, call);
  context.observer()->call_ends(OpCall{call.op, call.inputs, call.attributes, outputs.span()}, context.path());
  return outputs;
}

}  // namespace

Context::Context(const Registry& registry, runtime::Stream& stream, const Switches& switches, Observer* observer,
                 Rewriter* rewriter)
    : registry_(&registry),
      stream_(&stream),
      switches_(switches),
      observer_(observer),
      rewriter_(rewriter),
      kernel_family_(stream.device().kernel_family()) {}

void Context::submit(runtime::Launch& launch) {
  launch.path = path_;
  if (rewriter_)
    rewriter_->submit(*this, launch);
  else
    submit_now(launch);
}

void Context::submit_now(const runtime::Launch& launch) {
  if (observer_) observer_->launched(launch);
  stream_->submit(launch);
}

void Context::flush() {
  if (rewriter_) rewriter_->flush(*this);
}

void Context::set_rewriter(Rewriter* rewriter) {
  flush();
  rewriter_ = rewriter;
}

Tensors call_all(Context& context, OpName name, std::span<const Tensor> inputs, const Attributes& attributes) {
  return watch_and_run(context, OpCall{context.registry().get(name), inputs, attributes, {}});
}

Tensors call_all(Context& context, OpName name, std::initializer_list<Tensor> inputs, const Attributes& attributes) {
  return call_all(context, name, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes);
}

Tensor call(Context& context, OpName name, std::initializer_list<Tensor> inputs, const Attributes& attributes) {
  Tensors outputs = call_all(context, name, inputs, attributes);
  TW_CHECK(outputs.size() == 1);
  return std::move(outputs[0]);
}

void call_into(Context& context, OpName name, std::initializer_list<Tensor> inputs, const Tensor& output,
               const Attributes& attributes) {
  const Op& op = context.registry().get(name);
  TW_CHECK(op.schema.kind == OpKind::small && op.schema.outputs.size() == 1);
  watch_and_run(context, OpCall{op, std::span<const Tensor>(inputs.begin(), inputs.size()), attributes, {&output, 1}});
}

Tensors call_candidate(Context& context, const Op& op, const Candidate* candidate, std::span<const Tensor> inputs,
                       const Attributes& attributes) {
  const OpCall call{op, inputs, attributes, {}};
  return candidate ? run_candidate(context, call, *candidate) : op.decomposition.run(context, call);
}

runtime::Launch make_launch(const runtime::Kernel& kernel, const OpCall& call) {
  runtime::Launch launch;
  launch.kernel = &kernel;
  launch.op = call.op.schema.name.c_str();
  launch.cost.unit = call.op.schema.unit;
  launch.cost.flops = call.op.schema.flops ? call.op.schema.flops(call) : 0;
  launch.cost.bytes_read = tensor_bytes(call.inputs);
  launch.cost.bytes_written = tensor_bytes(call.outputs);
  return launch;
}

Tensor packed_view(const WeightPacker& packer, const runtime::MemoryRef& memory, std::size_t byte_offset, DType dtype,
                   std::int64_t n, std::int64_t k) {
  TW_CHECK(byte_offset % dtype_size(dtype) == 0);
  return Tensor(memory, dtype, {n, k}, {k, 1}, static_cast<std::int64_t>(byte_offset / dtype_size(dtype)),
                packer.layout(dtype));
}

}  // namespace tilewright::ops

#include "ops/core/case_runner.h"

#include <cstring>

#include "base/error.h"

namespace tilewright::ops {
namespace {

// Calls f(place in row-major order, place in storage) for every element.
template <typename F>
void each_element(const Shape& shape, const Strides& strides, const F& f) {
  Dims at = Dims::filled(shape.rank(), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    std::int64_t place = 0;
    for (int d = 0; d < shape.rank(); ++d) place += at[d] * strides[d];
    f(static_cast<std::size_t>(i), static_cast<std::size_t>(place));
    for (int d = shape.rank() - 1; d >= 0 && ++at[d] == shape[d]; --d) at[d] = 0;
  }
}

struct Built {
  std::vector<Tensor> device;
  std::vector<HostTensor> host;
};

Built build(Context& context, const OpCase& one) {
  Built out;
  for (std::size_t i = 0; i < one.inputs.size(); ++i) {
    out.host.emplace_back();
    out.device.push_back(one.inputs[i].name.empty() ? Tensor() : case_input(context, one, i, out.host.back()));
  }
  return out;
}

void judge(CaseResult& result, const OpCase& one, const Op& op, const std::vector<HostTensor>& actual,
           const std::vector<HostTensor>& expected) {
  result.pass = actual.size() == expected.size();
  if (!result.pass) result.reason = "another number of outputs than the reference";
  for (std::size_t i = 0; i < actual.size() && i < expected.size(); ++i) {
    const std::string name = i < op.schema.outputs.size() ? op.schema.outputs[i] : "output " + std::to_string(i);
    if (actual[i].dtype != expected[i].dtype) {
      result.pass = false;
      result.reason = name + ": dtype " + std::string(dtype_name(actual[i].dtype)) + " against " +
                      std::string(dtype_name(expected[i].dtype));
      return;
    }
    const bool exact = !is_floating(expected[i].dtype);  // indices are right or wrong
    const Comparison compared = compare(actual[i], expected[i], exact ? 0 : one.rtol, exact ? 0 : one.atol);
    if (compared.worst_error > result.worst_error) result.worst_error = compared.worst_error;
    if (compared.worst_ratio > result.worst_ratio || result.where.empty()) {
      result.worst_ratio = compared.worst_ratio;
      if (compared.worst_index >= 0) result.where = name + " " + index_text(compared.worst_index, expected[i].shape);
    }
    if (!compared.equal) {
      result.pass = false;
      result.reason = name + ": " + compared.reason;
    }
  }
}

CaseResult run_path(Context& context, const OpCase& one, const Op& op, const Candidate* candidate,
                    const std::vector<HostTensor>& expected) {
  CaseResult result;
  result.op = one.op;
  result.id = one.id;
  result.path = candidate ? candidate->name : "decomposition";
  const Built inputs = build(context, one);
  if (candidate && candidate->refuse) {
    result.refusal = candidate->refuse(context, OpCall{op, inputs.device, one.attributes, {}});
    if (!result.refusal.empty()) return result;
  }
  try {
    const Tensors outputs = call_candidate(context, op, candidate, inputs.device, one.attributes);
    std::vector<HostTensor> actual;
    for (const Tensor& output : outputs.span()) actual.push_back(to_host(context.stream(), output));
    judge(result, one, op, actual, expected);
  } catch (const Error& error) {
    result.reason = error.what();
  }
  return result;
}

}  // namespace

Tensor case_input(Context& context, const OpCase& one, std::size_t input, HostTensor& values) {
  const CaseInput& spec = one.inputs[input];
  values = case_values(one, input);
  if (spec.strides.rank() != spec.shape.rank() || spec.shape.rank() == 0 || spec.shape.elements() == 0)
    return to_device(context.stream(), values);
  std::int64_t last = 0;
  for (int i = 0; i < spec.shape.rank(); ++i) last += (spec.shape[i] - 1) * spec.strides[i];
  HostTensor storage(spec.dtype, {last + 1});
  const std::size_t size = dtype_size(spec.dtype);
  each_element(spec.shape, spec.strides, [&](std::size_t i, std::size_t place) {
    std::memcpy(storage.bytes.data() + place * size, values.bytes.data() + i * size, size);
  });
  each_element(spec.shape, spec.strides, [&](std::size_t i, std::size_t place) {
    std::memcpy(values.bytes.data() + i * size, storage.bytes.data() + place * size, size);
  });
  return Tensor(to_device(context.stream(), storage).memory_ref(), spec.dtype, spec.shape, spec.strides, 0);
}

std::vector<CaseResult> run_case(Context& context, const OpCase& one) {
  const Op& op = context.registry().get(OpName(std::string_view(one.op)));
  if (!op.reference)
    fail({.what = "the operator has no reference to check against",
          .where = one.op,
          .expected = "",
          .found = "",
          .fix = ""});
  const Built inputs = build(context, one);
  op.schema.infer(OpCall{op, inputs.device, one.attributes, {}});
  const std::vector<HostTensor> expected = op.reference(inputs.host, one.attributes);
  std::vector<CaseResult> out;
  if (op.schema.kind == OpKind::composite) out.push_back(run_path(context, one, op, nullptr, expected));
  if (const std::vector<Candidate>* candidates = op.candidates_for(context.kernel_family()))
    for (const Candidate& candidate : *candidates) out.push_back(run_path(context, one, op, &candidate, expected));
  return out;
}

}  // namespace tilewright::ops

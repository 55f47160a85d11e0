// Operators that move or make elements without computing: copy, cat, arange, full, causal_mask.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/small/checks.h"
#include "ops/small/lowest.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

std::vector<OutputSpec> infer_copy(const OpCall& call) {
  require_inputs(call, 1, 1);
  if (call.input(0).layout() != Layout::strided)
    fail_argument(call, "self", "a strided tensor", call.input(0).describe());
  return {{.dtype = call.input(0).dtype(), .shape = call.input(0).shape()}};
}

std::vector<OutputSpec> infer_cat(const OpCall& call) {
  require_inputs(call, 1, 64);
  Shape shape = call.input(0).shape();
  if (shape.rank() == 0) fail_argument(call, "tensors", "at least one dim", "a scalar");
  const int axis = axis_attribute(call, shape.rank());
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    if (!call.has(i)) fail_argument(call, "tensors", "a tensor", "nothing");
    require_same_dtype(call, 0, i);
    require_rank(call, i, shape.rank());
    for (int d = 0; d < shape.rank(); ++d)
      if (d != axis) require_extent(call, i, d, shape[d]);
    shape[axis] += call.input(i).dim(axis);
  }
  return {{.dtype = call.input(0).dtype(), .shape = shape}};
}

std::vector<HostTensor> evaluate_cat(std::span<const HostTensor> inputs, const Attributes& attributes) {
  Shape shape = inputs[0].shape;
  const int axis = axis_of(attributes, shape.rank());
  for (std::size_t i = 1; i < inputs.size(); ++i) shape[axis] += inputs[i].shape[axis];
  HostTensor out(inputs[0].dtype, shape);
  std::int64_t base = 0;
  const Strides strides = contiguous_strides(shape);
  for (const HostTensor& in : inputs) {
    if (in.elements() == 0) continue;
    Index index(in.shape);
    std::int64_t flat = 0;
    do {
      out.set(base + index.offset(strides), in.at(flat++));
    } while (index.next());
    base += in.shape[axis] * strides[axis];
  }
  return {out};
}

std::int64_t arange_elements(const OpCall& call) {
  const double start = call.attributes.number("start", 0), end = call.attributes.number("end", 0),
               step = call.attributes.number("step", 1);
  if (step == 0 || !std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step) || (end - start) / step < 0)
    fail_argument(call, "step", "a step from start towards end", std::to_string(step));
  const double count = std::ceil((end - start) / step);
  if (count > 0x1p40) fail_argument(call, "end", "at most 2^40 elements", std::to_string(count));
  return static_cast<std::int64_t>(count);
}

std::vector<OutputSpec> infer_arange(const OpCall& call) {
  require_inputs(call, 0, 0);
  return {{.dtype = call.attributes.dtype("dtype", DType::i64), .shape = {arange_elements(call)}}};
}

std::vector<OutputSpec> infer_full(const OpCall& call) {
  require_inputs(call, 0, 0);
  const Dims shape = call.attributes.dims("shape");
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] < 0) fail_argument(call, "shape", "no negative extent", to_string(shape));
  return {{.dtype = call.attributes.dtype("dtype", DType::f32), .shape = shape}};
}

std::vector<OutputSpec> infer_causal_mask(const OpCall& call) {
  require_inputs(call, 1, 1);
  require_dtype(call, 0, {DType::i32});
  require_rank(call, 0, 1);
  const std::int64_t rows = call.attributes.integer("rows", 1), columns = call.attributes.integer("columns", 1);
  if (rows < 0 || columns < 0) fail_argument(call, "rows", "no negative extent", to_string(Dims{rows, columns}));
  if (call.attributes.integer("window", 0) < 0) fail_argument(call, "window", "0 or more", "a negative one");
  const DType dtype = call.attributes.dtype("dtype", DType::f32);
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16)
    fail_argument(call, "dtype", "f32, f16, bf16", std::string(dtype_name(dtype)));
  return {{.dtype = dtype, .shape = {call.input(0).dim(0), 1, rows, columns}}};
}

std::vector<HostTensor> evaluate_causal_mask(std::span<const HostTensor> inputs, const Attributes& attributes) {
  const std::int64_t batch = inputs[0].elements(), rows = attributes.integer("rows", 1),
                     columns = attributes.integer("columns", 1), window = attributes.integer("window", 0);
  HostTensor out(attributes.dtype("dtype", DType::f32), {batch, 1, rows, columns});
  std::int64_t flat = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto last = static_cast<std::int64_t>(inputs[0].at(b)) + r;
        const bool seen = c <= last && (window == 0 || c > last - window);
        out.set(flat++, seen ? 0 : lowest_finite(out.dtype));
      }
  return {out};
}

OpSchema schema_of(const char* name, const char* summary, std::vector<ArgumentSpec> inputs,
                   std::vector<AttributeSpec> attributes, std::vector<OutputSpec> (*infer)(const OpCall&)) {
  OpSchema schema;
  schema.name = name;
  schema.summary = summary;
  schema.inputs = std::move(inputs);
  schema.attributes = std::move(attributes);
  schema.infer = infer;
  schema.unit = Unit::move;
  return schema;
}

}  // namespace

void add_move_ops(Registry& registry) {
  registry.add(schema_of("copy", "the same elements, contiguous", {{"self"}}, {}, infer_copy));
  registry.set_reference(
      "copy", [](std::span<const HostTensor> inputs, const Attributes&) { return std::vector<HostTensor>{inputs[0]}; });
  OpSchema cat = schema_of("cat", "tensors one after the other along a dim", {{"tensors"}},
                           {{"dim", "int", "the dim they are joined along"}}, infer_cat);
  cat.variadic = true;
  registry.add(std::move(cat));
  registry.set_reference("cat", evaluate_cat);
  registry.add(schema_of("arange", "start, start + step, … below end", {},
                         {{"start", "float", "first value"},
                          {"end", "float", "not reached"},
                          {"step", "float", "default 1"},
                          {"dtype", "dtype", "default i64"}},
                         infer_arange));
  registry.set_reference("arange", [](std::span<const HostTensor>, const Attributes& a) {
    const double start = a.number("start", 0), step = a.number("step", 1);
    HostTensor out(a.dtype("dtype", DType::i64),
                   {static_cast<std::int64_t>(std::ceil((a.number("end", 0) - start) / step))});
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, start + static_cast<double>(i) * step);
    return std::vector<HostTensor>{out};
  });
  registry.add(schema_of("full", "one value everywhere", {},
                         {{"shape", "dims", ""}, {"value", "float", ""}, {"dtype", "dtype", "default f32"}},
                         infer_full));
  registry.set_reference("full", [](std::span<const HostTensor>, const Attributes& a) {
    HostTensor out(a.dtype("dtype", DType::f32), a.dims("shape"));
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, a.number("value", 0));
    return std::vector<HostTensor>{out};
  });
  registry.add(schema_of(
      "causal_mask", "[B, 1, rows, columns]: 0 where column ≤ position[b] + row (and inside the window), else lowest",
      {{"position"}},
      {{"rows", "int", "queries"},
       {"columns", "int", "keys"},
       {"window", "int", "0: none"},
       {"dtype", "dtype", "default f32"}},
      infer_causal_mask));
  registry.set_reference("causal_mask", evaluate_causal_mask);
}

}  // namespace tilewright::ops

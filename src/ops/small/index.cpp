// Operators that read or write at places held in a tensor of indices: embedding, index_select, gather, index_copy,
// scatter_, cache_write; and floor_divide, which makes row numbers of flat ones. An index outside its range is a fault
// of device work; references abort on it.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/small/checks.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

void require_strided(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i].defined() && call.inputs[i].layout() != Layout::strided)
      fail_argument(call, call.op.schema.inputs[i].name, "a strided tensor", call.inputs[i].describe());
}

std::int64_t checked(double value, std::int64_t extent) {
  const auto index = static_cast<std::int64_t>(value);
  TW_CHECK(index >= 0 && index < extent);
  return index;
}

std::vector<OutputSpec> infer_embedding(const OpCall& call) {
  require_inputs(call, 2, 2);
  require_float(call, 0);
  require_rank(call, 0, 2);
  require_index(call, 1);
  Shape shape = call.input(1).shape();
  if (shape.rank() >= kMaxRank) fail_argument(call, "ids", "at most 7 dims", to_string(shape));
  shape.push_back(call.input(0).dim(1));
  return {{.dtype = call.input(0).dtype(), .shape = shape}};
}

std::vector<HostTensor> evaluate_embedding(std::span<const HostTensor> in, const Attributes&) {
  Shape shape = in[1].shape;
  shape.push_back(in[0].shape[1]);
  HostTensor out(in[0].dtype, shape);
  const std::int64_t width = in[0].shape[1];
  for (std::int64_t i = 0; i < in[1].elements(); ++i) {
    const std::int64_t row = checked(in[1].at(i), in[0].shape[0]);
    for (std::int64_t c = 0; c < width; ++c) out.set(i * width + c, in[0].at(row * width + c));
  }
  return {out};
}

std::vector<OutputSpec> infer_index_select(const OpCall& call) {
  require_inputs(call, 2, 2);
  require_strided(call);
  require_index(call, 1);
  require_rank(call, 1, 1);
  Shape shape = call.input(0).shape();
  if (shape.rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  shape[axis_attribute(call, shape.rank())] = call.input(1).dim(0);
  return {{.dtype = call.input(0).dtype(), .shape = shape}};
}

std::vector<HostTensor> evaluate_index_select(std::span<const HostTensor> in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in[0].shape.rank());
  Shape shape = in[0].shape;
  shape[axis] = in[1].elements();
  HostTensor out(in[0].dtype, shape);
  if (out.elements() == 0) return {out};
  const Strides strides = contiguous_strides(in[0].shape);
  Index index(shape);
  std::int64_t flat = 0;
  do {
    const std::int64_t to = checked(in[1].at(index[axis]), in[0].shape[axis]);
    out.set(flat++, in[0].at(index.offset(strides) + (to - index[axis]) * strides[axis]));
  } while (index.next());
  return {out};
}

std::vector<OutputSpec> infer_gather(const OpCall& call) {
  require_inputs(call, 2, 2);
  require_strided(call);
  require_index(call, 1);
  const Shape& shape = call.input(0).shape();
  require_rank(call, 1, shape.rank());
  if (shape.rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  const int axis = axis_attribute(call, shape.rank());
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis && call.input(1).dim(i) > shape[i])
      fail_argument(call, "index", "no extent beyond " + to_string(shape) + " outside the dim",
                    to_string(call.input(1).shape()));
  return {{.dtype = call.input(0).dtype(), .shape = call.input(1).shape()}};
}

std::vector<HostTensor> evaluate_gather(std::span<const HostTensor> in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in[0].shape.rank());
  HostTensor out(in[0].dtype, in[1].shape);
  if (out.elements() == 0) return {out};
  const Strides strides = contiguous_strides(in[0].shape);
  Index index(in[1].shape);
  std::int64_t flat = 0;
  do {
    const std::int64_t to = checked(in[1].at(flat), in[0].shape[axis]);
    out.set(flat++, in[0].at(index.offset(strides) + (to - index[axis]) * strides[axis]));
  } while (index.next());
  return {out};
}

std::vector<OutputSpec> infer_index_copy(const OpCall& call) {
  require_inputs(call, 3, 3);
  require_strided(call);
  require_index(call, 1);
  require_rank(call, 1, 1);
  require_same_dtype(call, 0, 2);
  const Shape& shape = call.input(0).shape();
  require_rank(call, 2, shape.rank());
  if (shape.rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  const int axis = axis_attribute(call, shape.rank());
  for (int i = 0; i < shape.rank(); ++i) require_extent(call, 2, i, i == axis ? call.input(1).dim(0) : shape[i]);
  return {{.dtype = call.input(0).dtype(), .shape = shape, .alias_of_input = 0}};
}

std::vector<HostTensor> evaluate_index_copy(std::span<const HostTensor> in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in[0].shape.rank());
  HostTensor out = in[0];
  if (in[2].elements() == 0) return {out};
  const Strides strides = contiguous_strides(out.shape);
  Index index(in[2].shape);
  std::int64_t flat = 0;
  do {
    const std::int64_t to = checked(in[1].at(index[axis]), out.shape[axis]);
    out.set(index.offset(strides) + (to - index[axis]) * strides[axis], in[2].at(flat++));
  } while (index.next());
  return {out};
}

std::vector<OutputSpec> infer_scatter(const OpCall& call) {
  require_inputs(call, 2, 2);
  require_strided(call);
  require_index(call, 1);
  const Shape& shape = call.input(0).shape();
  require_rank(call, 1, shape.rank());
  if (shape.rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  const int axis = axis_attribute(call, shape.rank());
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis && call.input(1).dim(i) > shape[i])
      fail_argument(call, "index", "no extent beyond " + to_string(shape) + " outside the dim",
                    to_string(call.input(1).shape()));
  if (!call.attributes.has("value")) fail_argument(call, "value", "an attribute", "nothing");
  return {{.dtype = call.input(0).dtype(), .shape = shape, .alias_of_input = 0}};
}

std::vector<HostTensor> evaluate_scatter(std::span<const HostTensor> in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in[0].shape.rank());
  HostTensor out = in[0];
  if (in[1].elements() == 0) return {out};
  const Strides strides = contiguous_strides(out.shape);
  Index index(in[1].shape);
  std::int64_t flat = 0;
  do {
    const std::int64_t to = checked(in[1].at(flat++), out.shape[axis]);
    out.set(index.offset(strides) + (to - index[axis]) * strides[axis], attributes.number("value", 0));
  } while (index.next());
  return {out};
}

std::vector<OutputSpec> infer_floor_divide(const OpCall& call) {
  require_inputs(call, 1, 1);
  require_strided(call);
  require_index(call, 0);
  const std::int64_t other = call.attributes.integer("other", 0);
  if (other < 1) fail_argument(call, "other", "1 or more", std::to_string(other));
  return {{.dtype = call.input(0).dtype(), .shape = call.input(0).shape()}};
}

std::vector<HostTensor> evaluate_floor_divide(std::span<const HostTensor> in, const Attributes& attributes) {
  HostTensor out(in[0].dtype, in[0].shape);
  const std::int64_t other = attributes.integer("other", 1);
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const auto value = static_cast<std::int64_t>(in[0].at(i));
    out.set(i, static_cast<double>(value / other - (value % other < 0)));
  }
  return {out};
}

std::vector<OutputSpec> infer_cache_write(const OpCall& call) {
  require_inputs(call, 3, 3);
  require_strided(call);
  require_dtype(call, 1, {DType::i32});
  require_rank(call, 1, 1);
  require_rank(call, 0, 4);
  require_rank(call, 2, 4);
  require_same_dtype(call, 0, 2);
  const Tensor& cache = call.input(0);
  require_extent(call, 1, 0, cache.dim(0));
  for (int i : {0, 1, 3}) require_extent(call, 2, i, cache.dim(i));
  if (call.input(2).dim(2) > cache.dim(2))
    fail_argument(call, "source", "at most " + std::to_string(cache.dim(2)) + " rows",
                  to_string(call.input(2).shape()));
  return {{.dtype = cache.dtype(), .shape = cache.shape(), .alias_of_input = 0}};
}

std::vector<HostTensor> evaluate_cache_write(std::span<const HostTensor> in, const Attributes&) {
  HostTensor out = in[0];
  if (in[2].elements() == 0) return {out};
  const Strides strides = contiguous_strides(out.shape);
  Index index(in[2].shape);
  std::int64_t flat = 0;
  do {
    const std::int64_t row = checked(in[1].at(index[0]), out.shape[2] - in[2].shape[2] + 1);
    out.set(index.offset(strides) + row * strides[2], in[2].at(flat++));
  } while (index.next());
  return {out};
}

struct IndexRow {
  const char* name;
  const char* summary;
  std::vector<ArgumentSpec> inputs;
  bool has_dim;
  std::vector<OutputSpec> (*infer)(const OpCall&);
  std::vector<HostTensor> (*evaluate)(std::span<const HostTensor>, const Attributes&);
};

}  // namespace

void add_index_ops(Registry& registry) {
  const IndexRow rows[] = {
      {"embedding", "weight[ids]", {{"weight"}, {"ids"}}, false, infer_embedding, evaluate_embedding},
      {"index_select",
       "slices of self along a dim",
       {{"self"}, {"index"}},
       true,
       infer_index_select,
       evaluate_index_select},
      {"gather", "self[… index[…] …] along a dim", {{"self"}, {"index"}}, true, infer_gather, evaluate_gather},
      {"index_copy",
       "self with slices of source at index along a dim, in place",
       {{"self"}, {"index"}, {"source"}},
       true,
       infer_index_copy,
       evaluate_index_copy},
      {"cache_write",
       "cache[b, :, position[b] + s] = source[b, :, s], in place",
       {{"cache"}, {"position"}, {"source"}},
       false,
       infer_cache_write,
       evaluate_cache_write},
  };
  for (const IndexRow& row : rows) {
    OpSchema schema;
    schema.name = row.name;
    schema.summary = row.summary;
    schema.inputs = row.inputs;
    if (row.has_dim) schema.attributes = {{"dim", "int", "the dim that the index counts along"}};
    schema.infer = row.infer;
    schema.unit = Unit::move;
    registry.add(std::move(schema));
    registry.set_reference(row.name, row.evaluate);
  }
  OpSchema scatter;
  scatter.name = "scatter_";
  scatter.summary = "self[… index[…] …] = value along a dim, in place";
  scatter.inputs = {{"self"}, {"index"}};
  scatter.attributes = {{"dim", "int", "the dim that the index counts along"}, {"value", "float", "what is written"}};
  scatter.infer = infer_scatter;
  scatter.unit = Unit::move;
  registry.add(std::move(scatter));
  registry.set_reference("scatter_", evaluate_scatter);
  OpSchema divide;
  divide.name = "floor_divide";
  divide.summary = "⌊self / other⌋ of integers";
  divide.inputs = {{"self"}};
  divide.attributes = {{"other", "int", "1 or more"}};
  divide.infer = infer_floor_divide;
  registry.add(std::move(divide));
  registry.set_reference("floor_divide", evaluate_floor_divide);
}

}  // namespace tilewright::ops

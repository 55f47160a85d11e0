// Operators that order elements: topk and sort along a dim, searchsorted in an ordered list. Of equal elements the one
// with the lower index comes first (torch promises that of its stable sort only), NaN counts as largest.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ops/small/checks.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

bool less(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

void require_ordered(const OpCall& call, int input) {
  require_dtype(call, input, {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32});
  if (call.input(input).layout() != Layout::strided)
    fail_argument(call, call.op.schema.inputs[static_cast<std::size_t>(input)].name, "a strided tensor",
                  call.input(input).describe());
}

std::vector<OutputSpec> ordered(const OpCall& call, const Shape& shape) {
  return {{.dtype = call.input(0).dtype(), .shape = shape}, {.dtype = DType::i64, .shape = shape}};
}

std::vector<OutputSpec> infer_topk(const OpCall& call) {
  require_inputs(call, 1, 1);
  require_ordered(call, 0);
  Shape shape = call.input(0).shape();
  if (shape.rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  const int axis = axis_attribute(call, shape.rank());
  const std::int64_t k = call.attributes.integer("k", 1);
  if (k < 0 || k > shape[axis])
    fail_argument(call, "k", "0 … " + std::to_string(shape[axis]) + ", the dim's extent", std::to_string(k));
  shape[axis] = k;
  return ordered(call, shape);
}

std::vector<OutputSpec> infer_sort(const OpCall& call) {
  require_inputs(call, 1, 1);
  require_ordered(call, 0);
  if (call.input(0).rank() == 0) fail_argument(call, "self", "at least one dim", "a scalar");
  axis_attribute(call, call.input(0).rank());
  return ordered(call, call.input(0).shape());
}

// The first `k` of every line along the dim, in order.
std::vector<HostTensor> first_of_lines(const HostTensor& in, int axis, std::int64_t k, bool descending) {
  Shape shape = in.shape;
  const std::int64_t n = shape[axis];
  shape[axis] = k;
  std::vector<HostTensor> out = {HostTensor(in.dtype, shape), HostTensor(DType::i64, shape)};
  std::int64_t inner = 1, outer = 1;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= shape[i];
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t line = 0; line < outer * inner; ++line) {
    const std::int64_t from = line / inner * n * inner + line % inner, to = line / inner * k * inner + line % inner;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const double x = in.at(from + a * inner), y = in.at(from + b * inner);
      return descending ? less(y, x) : less(x, y);
    });
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t index = order[static_cast<std::size_t>(i)];
      out[0].set(to + i * inner, in.at(from + index * inner));
      out[1].set(to + i * inner, static_cast<double>(index));
    }
  }
  return out;
}

std::vector<HostTensor> evaluate_topk(std::span<const HostTensor> in, const Attributes& attributes) {
  return first_of_lines(in[0], axis_of(attributes, in[0].shape.rank()), attributes.integer("k", 1),
                        attributes.flag("largest", true));
}

std::vector<HostTensor> evaluate_sort(std::span<const HostTensor> in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in[0].shape.rank());
  return first_of_lines(in[0], axis, in[0].shape[axis], attributes.flag("descending", false));
}

std::vector<OutputSpec> infer_searchsorted(const OpCall& call) {
  require_inputs(call, 2, 2);
  require_ordered(call, 0);
  require_rank(call, 0, 1);
  require_ordered(call, 1);
  require_same_dtype(call, 0, 1);
  return {
      {.dtype = call.attributes.flag("out_int32", false) ? DType::i32 : DType::i64, .shape = call.input(1).shape()}};
}

std::vector<HostTensor> evaluate_searchsorted(std::span<const HostTensor> in, const Attributes& attributes) {
  const bool right = attributes.flag("right", false);
  HostTensor out(attributes.flag("out_int32", false) ? DType::i32 : DType::i64, in[1].shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    std::int64_t before = 0;
    for (std::int64_t j = 0; j < in[0].elements(); ++j)
      before += right ? !less(in[1].at(i), in[0].at(j)) : less(in[0].at(j), in[1].at(i));
    out.set(i, static_cast<double>(before));
  }
  return {out};
}

// Comparisons of ordering n elements, of which k are wanted.
double comparisons(double elements, double k) { return elements * std::log2(std::max(k, 2.0)); }

}  // namespace

void add_order_ops(Registry& registry) {
  OpSchema topk;
  topk.name = "topk";
  topk.summary = "the k largest along a dim in descending order, and their indices (i64); of equals the lower index";
  topk.inputs = {{"self"}};
  topk.attributes = {{"k", "int", "how many"},
                     {"dim", "int", "the dim along which they are sought"},
                     {"largest", "bool", "default true; false: the smallest, ascending"}};
  topk.outputs = {"values", "indices"};
  topk.infer = infer_topk;
  topk.flops = [](const OpCall& call) {
    return comparisons(static_cast<double>(call.input(0).elements()),
                       static_cast<double>(call.attributes.integer("k", 1)));
  };
  topk.unit = Unit::reduction;
  registry.add(std::move(topk));
  registry.set_reference("topk", evaluate_topk);

  OpSchema sort;
  sort.name = "sort";
  sort.summary = "the elements along a dim in order, and their indices (i64); equals keep theirs";
  sort.inputs = {{"self"}};
  sort.attributes = {{"dim", "int", "the dim that is sorted"}, {"descending", "bool", "default false"}};
  sort.outputs = {"values", "indices"};
  sort.infer = infer_sort;
  sort.flops = [](const OpCall& call) {
    const auto n = static_cast<double>(call.input(0).dim(axis_of(call.attributes, call.input(0).rank())));
    return comparisons(static_cast<double>(call.input(0).elements()), n);
  };
  sort.unit = Unit::move;
  registry.add(std::move(sort));
  registry.set_reference("sort", evaluate_sort);

  OpSchema search;
  search.name = "searchsorted";
  search.summary = "how many elements of an ascending list are below each value";
  search.inputs = {{"sorted_sequence"}, {"values"}};
  search.attributes = {{"right", "bool", "count those that equal the value as well"},
                       {"out_int32", "bool", "default false: i64"}};
  search.infer = infer_searchsorted;
  search.flops = [](const OpCall& call) {
    return comparisons(static_cast<double>(call.input(1).elements()), static_cast<double>(call.input(0).elements()));
  };
  search.unit = Unit::move;
  registry.add(std::move(search));
  registry.set_reference("searchsorted", evaluate_searchsorted);
}

}  // namespace tilewright::ops

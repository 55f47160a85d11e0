// Operators that fold one dim: mean, sum, amax, argmax, softmax. Attribute `dim` (default the last), `keepdim`.
#include <cmath>
#include <limits>
#include <vector>

#include "ops/small/checks.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

enum class Fold { sum, mean, amax, argmax, softmax };

struct FoldRow {
  const char* name;
  const char* summary;
  Fold fold;
  double flops_per_input;
  bool needs_elements;  // of the folded dim: an empty one is an error
};

constexpr FoldRow kRows[] = {
    {"sum", "sum over a dim, accumulated in f32", Fold::sum, 1, false},
    {"mean", "mean over a dim, accumulated in f32", Fold::mean, 1, false},
    {"amax", "largest over a dim, NaN if there is one", Fold::amax, 1, true},
    {"argmax", "index of the largest over a dim, the first one of equals; NaN counts as largest", Fold::argmax, 1,
     true},
    {"softmax", "e^(x-max) / sum over a dim, in f32", Fold::softmax, 4, false},
};

Shape folded_shape(const Shape& shape, int axis, bool keep) {
  Shape out = shape;
  if (out.rank() == 0) return out;
  if (keep)
    out[axis] = 1;
  else
    out.erase(axis);
  return out;
}

std::vector<OutputSpec> infer(const FoldRow& row, const OpCall& call) {
  require_inputs(call, 1, 1);
  require_float(call, 0);
  const Shape& shape = call.input(0).shape();
  const int axis = axis_attribute(call, shape.rank());
  if (row.needs_elements && shape.rank() > 0 && shape[axis] == 0)
    fail_argument(call, "self", "at least one element along the dim", to_string(shape));
  const DType dtype = row.fold == Fold::argmax ? DType::i64 : call.input(0).dtype();
  if (row.fold == Fold::softmax) return {{.dtype = dtype, .shape = shape}};
  return {{.dtype = dtype, .shape = folded_shape(shape, axis, call.attributes.flag("keepdim", false))}};
}

// One line of `n` values, `stride` apart.
void fold_line(Fold fold, const HostTensor& in, std::int64_t at, std::int64_t n, std::int64_t stride, HostTensor& out,
               std::int64_t out_at) {
  double total = 0, largest = -std::numeric_limits<double>::infinity();
  std::int64_t where = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = in.at(at + i * stride);
    total += x;
    if (!std::isnan(largest) && (x > largest || std::isnan(x))) {
      largest = x;
      where = i;
    }
  }
  if (fold == Fold::sum) return out.set(out_at, total);
  if (fold == Fold::mean) return out.set(out_at, total / static_cast<double>(n));
  if (fold == Fold::amax) return out.set(out_at, largest);
  if (fold == Fold::argmax) return out.set(out_at, static_cast<double>(where));
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(in.at(at + i * stride) - largest);
  for (std::int64_t i = 0; i < n; ++i) out.set(out_at + i * stride, std::exp(in.at(at + i * stride) - largest) / sum);
}

HostTensor evaluate(const FoldRow& row, const HostTensor& in, const Attributes& attributes) {
  const int axis = axis_of(attributes, in.shape.rank());
  const bool scalar = in.shape.rank() == 0;
  const bool same_shape = row.fold == Fold::softmax;
  HostTensor out(row.fold == Fold::argmax ? DType::i64 : in.dtype,
                 same_shape ? in.shape : folded_shape(in.shape, axis, attributes.flag("keepdim", false)));
  const std::int64_t n = scalar ? 1 : in.shape[axis];
  std::int64_t inner = 1, outer = 1;
  for (int i = 0; i < in.shape.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= in.shape[i];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      fold_line(row.fold, in, o * n * inner + i, n, inner, out, same_shape ? o * n * inner + i : o * inner + i);
  return out;
}

}  // namespace

void add_reduce_ops(Registry& registry) {
  for (const FoldRow& row : kRows) {
    OpSchema schema;
    schema.name = row.name;
    schema.summary = row.summary;
    schema.inputs = {{"self"}};
    schema.attributes = {{"dim", "int", "the dim that is folded"}};
    if (row.fold != Fold::softmax) schema.attributes.push_back({"keepdim", "bool", "leave it as a dim of one element"});
    schema.infer = [row](const OpCall& call) { return infer(row, call); };
    schema.flops = [row](const OpCall& call) {
      return row.flops_per_input * static_cast<double>(call.input(0).elements());
    };
    schema.unit = Unit::reduction;
    registry.add(std::move(schema));
    registry.set_reference(row.name, [row](std::span<const HostTensor> inputs, const Attributes& attributes) {
      return std::vector<HostTensor>{evaluate(row, inputs[0], attributes)};
    });
  }
}

}  // namespace tilewright::ops

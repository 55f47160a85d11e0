#include "ops/small/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tilewright::ops {
namespace {

std::string_view name_of(const OpCall& call, int input) {
  const auto& names = call.op.schema.inputs;
  return names[std::min(static_cast<std::size_t>(input), names.size() - 1)].name;
}

}  // namespace

void fail_argument(const OpCall& call, std::string_view argument, const std::string& expected,
                   const std::string& found) {
  fail({.what = fmt::format("{}: argument {} does not fit", call.op.schema.name, argument),
        .where = call.describe(),
        .expected = expected,
        .found = found,
        .fix = ""});
}

void require_inputs(const OpCall& call, int least, int most) {
  const int given = static_cast<int>(call.inputs.size());
  if (given < least || given > most)
    fail_argument(call, "list",
                  least == most ? fmt::format("{} inputs", least) : fmt::format("{} to {} inputs", least, most),
                  fmt::format("{}", given));
  for (int i = 0; i < least; ++i)
    if (!call.has(i)) fail_argument(call, name_of(call, i), "a tensor", "nothing");
}

void require_dtype(const OpCall& call, int input, std::initializer_list<DType> allowed) {
  const DType found = call.input(input).dtype();
  std::string names;
  for (DType d : allowed) {
    if (d == found) return;
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(d));
  }
  fail_argument(call, name_of(call, input), names, std::string(dtype_name(found)));
}

void require_float(const OpCall& call, int input) { require_dtype(call, input, {DType::f32, DType::f16, DType::bf16}); }

void require_index(const OpCall& call, int input) { require_dtype(call, input, {DType::i64, DType::i32}); }

void require_same_dtype(const OpCall& call, int a, int b) {
  if (call.input(a).dtype() != call.input(b).dtype())
    fail_argument(call, name_of(call, b), fmt::format("{} as {}", dtype_name(call.input(a).dtype()), name_of(call, a)),
                  std::string(dtype_name(call.input(b).dtype())));
}

void require_rank(const OpCall& call, int input, int rank) {
  if (call.input(input).rank() != rank)
    fail_argument(call, name_of(call, input), fmt::format("{} dims", rank), to_string(call.input(input).shape()));
}

void require_extent(const OpCall& call, int input, int axis, std::int64_t extent) {
  if (call.input(input).dim(axis) != extent)
    fail_argument(call, name_of(call, input), fmt::format("{} in dim {}", extent, axis),
                  to_string(call.input(input).shape()));
}

int axis_attribute(const OpCall& call, int rank) {
  const std::int64_t dim = call.attributes.integer("dim", -1);
  const int range = std::max(rank, 1);
  if (dim < -range || dim >= range)
    fail_argument(call, "dim", fmt::format("{} … {}", -range, range - 1), fmt::format("{}", dim));
  return static_cast<int>(dim < 0 ? dim + range : dim);
}

int axis_of(const Attributes& attributes, int rank) {
  const std::int64_t dim = attributes.integer("dim", -1);
  return static_cast<int>(dim < 0 ? dim + std::max(rank, 1) : dim);
}

std::int64_t Index::offset(const Strides& strides) const {
  std::int64_t out = 0;
  for (int i = 0; i < shape_.rank(); ++i) out += at_[i] * strides[i];
  return out;
}

bool Index::next() {
  for (int i = shape_.rank() - 1; i >= 0; --i) {
    if (++at_[i] < shape_[i]) return true;
    at_[i] = 0;
  }
  return false;
}

}  // namespace tilewright::ops

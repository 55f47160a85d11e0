#include "tensor/host_tensor.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"

namespace tilewright {
namespace {

std::uint64_t next(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
double unit(std::uint64_t& state) { return static_cast<double>(next(state) >> 11) * 0x1p-53; }
// Sum of twelve uniforms less six: deviation 1, no libm, the same everywhere.
double normal(std::uint64_t& state) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += unit(state);
  return sum;
}
double extreme(DType dtype, std::uint64_t& state) {
  const double largest = dtype == DType::f16 ? 65504.0 : dtype == DType::f8e4m3 ? 448.0 : 3.3895313892515355e38;
  const double smallest = dtype == DType::f16 ? 0x1p-24 : dtype == DType::f8e4m3 ? 0x1p-9 : 0x1p-126;
  switch (next(state) % 8) {
    case 0: return largest;
    case 1: return -largest;
    case 2: return smallest;
    case 3: return 0;
    default: return normal(state);
  }
}

}  // namespace

HostTensor::HostTensor(DType dtype_in, Shape shape_in)
    : dtype(dtype_in), shape(shape_in), bytes(static_cast<std::size_t>(shape_in.elements()) * dtype_size(dtype_in)) {}

double HostTensor::at(std::int64_t i) const { return load_element(dtype, bytes.data() + static_cast<std::size_t>(i) * dtype_size(dtype)); }
void HostTensor::set(std::int64_t i, double value) {
  store_element(dtype, bytes.data() + static_cast<std::size_t>(i) * dtype_size(dtype), value);
}

HostTensor HostTensor::cast(DType to) const {
  if (to == dtype) return *this;
  HostTensor out(to, shape);
  for (std::int64_t i = 0; i < elements(); ++i) out.set(i, at(i));
  return out;
}

void fill(HostTensor& tensor, const std::string& kind, std::uint64_t seed) {
  std::uint64_t state = seed * 0x2545f4914f6cdd1dull + 1;
  const std::int64_t n = tensor.elements();
  const auto each = [&](auto&& value) {
    for (std::int64_t i = 0; i < n; ++i) tensor.set(i, value(i));
  };
  if (kind == "zeros") return each([](std::int64_t) { return 0.0; });
  if (kind == "ones") return each([](std::int64_t) { return 1.0; });
  if (kind == "arange") return each([](std::int64_t i) { return static_cast<double>(i); });
  if (kind == "uniform") return each([&](std::int64_t) { return 2 * unit(state) - 1; });
  if (kind == "normal") return each([&](std::int64_t) { return normal(state); });
  if (kind == "extreme") return each([&](std::int64_t) { return extreme(tensor.dtype, state); });
  fail({.what = "unknown fill", .where = "", .expected = "zeros, ones, arange, uniform, normal or extreme", .found = kind, .fix = ""});
}

Comparison compare(const HostTensor& actual, const HostTensor& expected, double rtol, double atol) {
  Comparison out;
  if (!(actual.shape == expected.shape)) {
    out.reason = "shape " + to_string(actual.shape) + " against " + to_string(expected.shape);
    return out;
  }
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.at(i), b = expected.at(i);
    if (std::isnan(a) || std::isnan(b) || ((std::isinf(a) || std::isinf(b)) && a != b)) {
      out.worst_index = i;
      out.worst_error = out.worst_ratio = std::numeric_limits<double>::infinity();
      out.reason = std::to_string(a) + " at " + index_text(i, actual.shape) + ", expected " + std::to_string(b);
      return out;
    }
    const double error = a == b ? 0 : std::abs(a - b);
    const double allowed = atol + rtol * std::abs(b);
    const double ratio = error == 0 ? 0 : allowed > 0 ? error / allowed : std::numeric_limits<double>::infinity();
    if (error > out.worst_error) out.worst_error = error;
    if (ratio > out.worst_ratio || out.worst_index < 0) {
      out.worst_ratio = ratio;
      out.worst_index = i;
    }
  }
  out.equal = out.worst_ratio <= 1;
  if (!out.equal)
    out.reason = "error " + std::to_string(std::abs(actual.at(out.worst_index) - expected.at(out.worst_index))) + " at " +
                 index_text(out.worst_index, actual.shape) + ", got " + std::to_string(actual.at(out.worst_index)) +
                 ", expected " + std::to_string(expected.at(out.worst_index));
  return out;
}

std::string index_text(std::int64_t flat, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[i] = shape[i] ? flat % shape[i] : 0;
    flat = shape[i] ? flat / shape[i] : 0;
  }
  return to_string(index);
}

}  // namespace tilewright

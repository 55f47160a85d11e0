// Host matrices for tests of tile programs: named tensors, and one call that interprets a program on them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tile/build/builder.h"
#include "tile/interp/interpreter.h"

namespace tilewright::tile {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kDenormal = 1e-40;  // as f32

// rows × columns with `padding` elements between rows that nothing may touch.
struct Matrix {
  DType dtype;
  std::int64_t rows, columns, stride;
  std::vector<std::byte> bytes;
  Matrix(DType type, std::int64_t r, std::int64_t c, std::vector<double> values = {}, std::int64_t padding = 3)
      : dtype(type), rows(r), columns(c), stride(c + padding), bytes(static_cast<std::size_t>(r * stride + 1) * 8) {
    for (std::byte& byte : bytes) byte = std::byte{0x5a};
    for (std::int64_t i = 0; i < r * c && !values.empty(); ++i)
      store_element(dtype, at(i / c, i % c), values[static_cast<std::size_t>(i) % values.size()]);
  }
  void* at(std::int64_t r, std::int64_t c) {
    return bytes.data() + static_cast<std::size_t>(r * stride + c) * dtype_size(dtype);
  }
  double value(std::int64_t r, std::int64_t c) { return load_element(dtype, at(r, c)); }
  std::vector<double> values() {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) out.push_back(value(r, c));
    return out;
  }
  TensorArgument argument() { return {bytes.data(), {rows, columns}, {stride, 1}}; }
};

// Writes belong into loops.
template <typename Body>
void once(Builder& b, const Body& body) {
  b.loop("once", 0, 1, 1, [&](Index) { body(); });
}

inline void interpret_on(const Program& program, std::vector<Matrix*> tensors, std::vector<double> scalars = {}) {
  Arguments arguments{{}, std::move(scalars)};
  for (Matrix* matrix : tensors) arguments.tensors.push_back(matrix->argument());
  interpret(program, arguments);
}

// One input of 1 × n, one output of `dtype`: what `body` makes of the whole row.
template <typename Body>
std::vector<double> map_row(DType from, DType to, const std::vector<double>& values, const Body& body) {
  const auto n = static_cast<std::int64_t>(values.size());
  Builder b("row");
  const auto x = b.input("x", from, {1, n});
  const auto y = b.output("y", to, {1, n});
  once(b, [&] { b.assemble(body(b, b.view(x, {0, 0}, {{1}, {n}})), y, {0, 0}); });
  const Program program = b.finish();
  Matrix in(from, 1, n, values), out(to, 1, n);
  interpret_on(program, {&in, &out});
  return out.values();
}

}  // namespace tilewright::tile

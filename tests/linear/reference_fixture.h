// Random matrices with rows apart, and products in double, for the tests of linear and bmm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "tensor/dtype.h"

namespace tilewright {

inline std::vector<IsaLevel> testable_levels() {
  std::vector<IsaLevel> levels = {IsaLevel::generic};
  if (active_isa() == IsaLevel::neon) return levels;
  for (IsaLevel level : {IsaLevel::avx2, IsaLevel::avx512, IsaLevel::avx512_bf16})
    if (level <= active_isa()) levels.push_back(level);
  return levels;
}

// 64-byte aligned bytes. Whatever lies between and behind the rows is a NaN of every dtype, so that a kernel that reads
// where it should not shows.
class Bytes {
 public:
  explicit Bytes(std::size_t size)
      : size_(size), data_(static_cast<char*>(std::aligned_alloc(64, size / 64 * 64 + 64))) {
    std::memset(data_.get(), 0xff, size / 64 * 64 + 64);
  }
  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::size_t size_;
  std::unique_ptr<char, Free> data_;
};

struct Matrix {
  Matrix(DType dtype, long rows, long columns, long gap = 0)
      : dtype(dtype),
        rows(rows),
        columns(columns),
        stride(columns + gap),
        bytes(static_cast<std::size_t>(rows * stride) * dtype_size(dtype)) {}
  double get(long r, long c) const { return load_element(dtype, at(r, c)); }
  void set(long r, long c, double value) { store_element(dtype, at(r, c), value); }
  char* at(long r, long c) { return bytes.data() + (r * stride + c) * static_cast<long>(dtype_size(dtype)); }
  const char* at(long r, long c) const {
    return bytes.data() + (r * stride + c) * static_cast<long>(dtype_size(dtype));
  }
  void fill(std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (long r = 0; r < rows; ++r)
      for (long c = 0; c < columns; ++c) set(r, c, normal(random));
  }
  DType dtype;
  long rows, columns, stride;
  Bytes bytes;
};

// Half the distance between neighbours, relative.
inline double rounding_unit(DType dtype) {
  return dtype == DType::f32 ? 0x1p-24 : dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
}

// How far a sum of K products (and a bias) in f32, in any order, rounded once to y, may be from the exact one: every
// partial sum is at most `magnitude` = Σ|x·w| + |bias| and each of the K + 2 additions (two roundings each where
// product and sum round apart) errs by half a unit of it. The last term covers denormals taken as zero (VDPBF16PS) and
// those of f16 outputs.
inline double tolerance(double exact, double magnitude, long K, DType y) {
  return 2 * static_cast<double>(K + 2) * 0x1p-24 * magnitude + rounding_unit(y) * std::abs(exact) * 1.0001 +
         (y == DType::f16 ? 0x1p-25 : 0x1p-120);
}

}  // namespace tilewright

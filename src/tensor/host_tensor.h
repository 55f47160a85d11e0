// A dense, row-major tensor in host memory. Owns its bytes. For files, goldens, references and cases; never used on hot paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tilewright {

struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  HostTensor() = default;
  HostTensor(DType dtype, Shape shape);  // zeroed
  std::int64_t elements() const { return shape.elements(); }
  double at(std::int64_t flat_index) const;         // converted by load_element
  void set(std::int64_t flat_index, double value);  // converted by store_element
  template <typename T>
  T* data() { return reinterpret_cast<T*>(bytes.data()); }
  template <typename T>
  const T* data() const { return reinterpret_cast<const T*>(bytes.data()); }
  HostTensor cast(DType to) const;
};

// Seeded fills: "zeros", "ones", "normal" (mean 0, deviation 1), "uniform" (-1..1), "arange", "extreme" (normal values mixed
// with the dtype's largest, smallest and zero). Same seed, same values on every machine. Throws Error for another name.
void fill(HostTensor& tensor, const std::string& kind, std::uint64_t seed);

struct Comparison {
  bool equal = false;            // within tolerance everywhere, same dtype-independent shape, no NaN or Inf on one side only
  double worst_error = 0;        // largest |a - b|
  double worst_ratio = 0;        // largest |a - b| / (atol + rtol · |b|); > 1 means outside
  std::int64_t worst_index = -1; // flat
  std::string reason;            // empty if equal: "shape [2] against [3]", "NaN at [0, 5]", "error 0.3 at …"
};
// `expected` is b above. NaN anywhere in either is a failure; infinities must match exactly.
Comparison compare(const HostTensor& actual, const HostTensor& expected, double rtol, double atol);

std::string index_text(std::int64_t flat_index, const Shape& shape);  // "[0, 5, 3]"

}  // namespace tilewright

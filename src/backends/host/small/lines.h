// Reading and writing a line of elements of any stride as f32.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/host/small/vector_choice.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {

inline Storage storage_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return kStoreF16;
    case DType::bf16:
      return kStoreBf16;
    case DType::u8:
      return kStoreU8;
    case DType::b8:
      return kStoreBool;
    default:
      return kStoreF32;
  }
}

// `stride` in elements.
inline void load_line(const VectorTable& table, DType dtype, const std::byte* in, std::int64_t stride, float* out,
                      std::int64_t n) {
  const Storage from = storage_of(dtype);
  const std::int64_t step = stride * static_cast<std::int64_t>(dtype_size(dtype));
  if (stride == 1) {
    table.load[from](in, out, n);
  } else if (stride == 0) {
    float value;
    table.load[from](in, &value, 1);
    std::fill_n(out, n, value);
  } else if (from == kStoreF32) {
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(out + i, in + i * step, 4);
  } else if (from == kStoreBf16) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, in + i * step, 2);
      out[i] = bf16_to_float(bits);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) table.load[from](in + i * step, out + i, 1);
  }
}

inline void store_line(const VectorTable& table, DType dtype, const float* in, std::byte* out, std::int64_t stride,
                       std::int64_t n) {
  const Storage to = storage_of(dtype);
  const std::int64_t step = stride * static_cast<std::int64_t>(dtype_size(dtype));
  if (stride == 1) return table.store[to](in, out, n);
  for (std::int64_t i = 0; i < n; ++i) table.store[to](in + i, out + i * step, 1);
}

}  // namespace tilewright::backends::host

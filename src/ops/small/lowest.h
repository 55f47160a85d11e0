// The lowest finite value of a floating dtype: what masks are filled with.
#pragma once

#include "tensor/dtype.h"

namespace tilewright::ops {

inline double lowest_finite(DType dtype) {
  if (dtype == DType::f16) return -65504.0;
  if (dtype == DType::bf16) return -0x1.fep127;
  return -0x1.fffffep127;
}

}  // namespace tilewright::ops

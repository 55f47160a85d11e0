// The launches that add_matmul registers, and the layouts they know.
#pragma once

#include <string>

#include "ops/core/context.h"

namespace tilewright::backends::host {

// The packed layout of `linear`'s weights; strided where there is none.
ops::Layout packed_layout(DType dtype);
// Elements of the last dim lie side by side.
inline bool unit_rows(const ops::Tensor& tensor) {
  return tensor.rank() == 0 || tensor.dim(-1) <= 1 || tensor.strides()[tensor.rank() - 1] == 1;
}

std::string refuse_linear(ops::Context& context, const ops::OpCall& call);
void run_linear(ops::Context& context, const ops::OpCall& call);

// mm and bmm.
std::string refuse_product(ops::Context& context, const ops::OpCall& call);
void run_product(ops::Context& context, const ops::OpCall& call);

}  // namespace tilewright::backends::host

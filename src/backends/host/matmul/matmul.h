// The host's candidates of linear, mm and bmm, and its weight packer.
//
// linear: weights packed or plain row-major; plain ones are packed into scratch by the launch itself, which costs about
// three more passes over them: for checks and small models, not for speed. Activations that are no matrix of rows with
// unit stride are copied first, as an eager framework does, and so are operands of mm and bmm on the left side.
#pragma once

#include <memory>

#include "ops/core/packing.h"
#include "ops/core/registry.h"

namespace tilewright::backends::host {

void add_matmul(ops::Registry& registry);

// bf16 → panel32x2, f16 and f32 → panel32; other dtypes stay strided.
std::unique_ptr<ops::WeightPacker> make_weight_packer();

}  // namespace tilewright::backends::host

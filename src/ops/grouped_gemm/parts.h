// The definitions that schema.cpp puts into the registry.
#pragma once

#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

// Throws Error naming the op and the first offset below its predecessor (or 0) or beyond `rows`.
void check_group_offsets(const HostTensor& offsets, std::int64_t rows);

std::vector<HostTensor> grouped_gemm_reference(std::span<const HostTensor> inputs, const Attributes& attributes);
Decomposition grouped_gemm_decomposition();
TileKernel grouped_gemm_kernel();

}  // namespace tilewright::ops

// Makes a candidate out of a tile kernel and a code generator.
#pragma once

#include <memory>

#include "ops/core/code_generator.h"
#include "ops/core/op.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

// The candidate asks the kernel, specialises, builds and compiles each specialisation once (also one that fails: its
// reason is kept), checks what the program demands, and submits one launch. It shares both arguments.
Candidate tile_candidate(std::shared_ptr<const TileKernel> kernel, std::shared_ptr<CodeGenerator> generator);

}  // namespace tilewright::ops

// The derived kernel of a composite operator: its decomposition as one row-wise tile program.
#pragma once

#include "ops/core/derive/derived_program.h"
#include "ops/core/registry.h"
#include "ops/core/tile_kernel.h"

namespace tilewright::ops {

// Nothing is derived before the first call. A call's dtypes, shapes, strides and attributes lead to a plan (kept, so
// that later calls of that geometry cost a look-up): its program, as the specialisation's number `form`, and what to
// bind. Programs do not depend on extents, so few forms serve all calls. `op` and `registry` must outlive the kernel.
TileKernel derived_kernel(const Registry& registry, const Op& op);

// May a kernel be derived for the op at all? (A composite of memory-bound work.)
bool may_derive(const Op& op);

// Derives from one call (outputs as the schema infers them, without memory).
Derived derive_call(const Registry& registry, const OpCall& call);

}  // namespace tilewright::ops

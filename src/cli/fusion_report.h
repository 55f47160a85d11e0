// What became of the composites that --fuse switched on: which ran as a kernel, how often, and which fell back, why.
#pragma once

#include <string>

#include "base/json.h"
#include "ops/core/observer.h"

namespace tilewright::cli {

// A table for stderr; empty if no composite that is on was called.
std::string fusion_text(const ops::FallbackLog& log);

// Calls that ran a kernel: [{op, kernel, kind, count}].
Json fused_json(const ops::FallbackLog& log);
// Refusals: [{op, candidate, reason, count}]; candidate "decomposition": the call ran its small ops.
Json fallbacks_json(const ops::FallbackLog& log);

}  // namespace tilewright::cli

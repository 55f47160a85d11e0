// What became of the composites that --fuse switched on: which ran as a kernel, how often, and which fell back, why.
#pragma once

#include <string>

#include "base/json.h"
#include "ops/core/observer.h"
#include "ops/core/tuning/tuner.h"

namespace tilewright::cli {

// A table for stderr; empty if no composite that is on was called.
std::string fusion_text(const ops::FallbackLog& log);

// Calls that ran a kernel: [{op, kernel, kind, count}].
Json fused_json(const ops::FallbackLog& log);
// Refusals: [{op, candidate, reason, count}]; candidate "decomposition": the call ran its small ops.
Json fallbacks_json(const ops::FallbackLog& log);

// "measured 9 kernels for 12 kinds of calls in 0.8 s, stored in …"; empty without `--fuse auto`.
std::string tuning_text(const ops::Tuner* tuner);
// {classes, measured, kernels, seconds, file}; null without `--fuse auto`.
Json tuning_json(const ops::Tuner* tuner);

}  // namespace tilewright::cli

// Times ways to run one call, as they would run within a pass of a model.
#pragma once

#include <span>
#include <vector>

#include "ops/core/context.h"
#include "ops/core/tuning/decision.h"

namespace tilewright::ops {

// Arms take turns, each round beginning with another one. An arm's sample is a stream of calls with one wait at its
// end, so that submitting counts as it does in a pass, over several copies of the tensors in turn, so that they come
// from about as far away. Strided inputs of floating numbers are copied as they lie, with contents of their own; all
// others are used as they are. Rounds end when the arms are told apart (decision.h), at the latest after some hundred
// milliseconds, not before six. Arm 0 is the decomposition, in which the context's chooser decides about narrower
// composites; then `kernels`.
std::vector<ArmTimes> time_call(Context& context, const OpCall& call, std::span<const Candidate* const> kernels);

}  // namespace tilewright::ops

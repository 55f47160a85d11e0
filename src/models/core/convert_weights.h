// Weights that are on a device, in another dtype.
#pragma once

#include "nn/decoder_weights.h"
#include "ops/core/context.h"

namespace tilewright::models {

// The values of `weights` as they are (rounded to their dtype already), converted to `dtype` and laid out the way the
// device's `linear` wants it. Waits. Throws Error if memory does not suffice.
nn::DecoderWeights convert_weights(ops::Context& context, const nn::DecoderConfig& config,
                                   const nn::DecoderWeights& weights, DType dtype);

}  // namespace tilewright::models

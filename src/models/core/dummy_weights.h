// Seeded random weights of any shape, made on the device in the layout that `linear` wants, so that a shape can be
// measured without its download.
#pragma once

#include "models/core/model.h"
#include "nn/decoder_weights.h"

namespace tilewright::models {

// Matrices: normal values that keep activations near 1; norms: near 1; biases: small. The same seed gives the same
// values in the same layout. Values repeat after some million elements.
nn::DecoderWeights dummy_weights(ops::Context& context, const nn::DecoderConfig& config, DType dtype,
                                 const LoadOptions& options);

}  // namespace tilewright::models

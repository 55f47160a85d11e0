// Brings the weights of a checkpoint onto a device: checks each tensor, converts it to the compute dtype if the file
// has another, places q, k, v and gate, up of a layer in one buffer, and packs matrices the way the device's `linear`
// wants them. File pages are given back as soon as their bytes are packed. Where nothing is packed or converted, the
// mapping itself is the weight.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hub/safetensors/checkpoint.h"
#include "models/core/family.h"
#include "models/core/model.h"

namespace tilewright::models {

struct LoadedWeights {
  nn::DecoderWeights weights;
  std::uint64_t bytes = 0;  // in the compute dtype, a tied embedding counted once
  std::vector<std::string> notes;
};

// `config.tied` becomes what the files say: a head of its own that differs from the embedding is believed; a file with
// only the head lends it to the embedding. Throws Error naming the tensor, what was expected and what was found if one
// is missing or has another shape or a dtype that is none of f32, f16, bf16.
LoadedWeights load_weights(ops::Context& context, nn::DecoderConfig& config, std::span<const WeightName> names,
                           std::shared_ptr<const hub::Checkpoint> checkpoint, const LoadOptions& options);

}  // namespace tilewright::models

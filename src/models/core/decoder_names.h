// The tensor names that the decoder families publish. A family takes the groups it has.
#pragma once

#include <vector>

#include "models/core/family.h"

namespace tilewright::models {

// model.embed_tokens, model.norm, lm_head, model.layers.N.{input_layernorm, post_attention_layernorm,
// self_attn.{q,k,v,o}_proj, mlp.{gate,up,down}_proj} with weights and, where a configuration has them, biases.
std::vector<WeightName> decoder_names();
// self_attn.q_norm and k_norm.
std::vector<WeightName> qk_norm_names();

}  // namespace tilewright::models

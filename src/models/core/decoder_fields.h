// The fields of config.json that decoder families share, in all published spellings: transformers 4 (`rope_scaling`,
// `rope_theta`, `torch_dtype`) and 5 (`rope_parameters`, `dtype`). Facts: what the reference implementation does with
// each.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "nn/decoder_config.h"

namespace tilewright::models {

// What a family assumes where a field is missing. A field that is null counts as missing for scalars.
struct FieldDefaults {
  std::int64_t missing_kv_heads = 0;  // 0: as many as query heads. A null always means that
  std::int64_t missing_head_dim = 0;  // 0: hidden_size / heads. A null always means that
  std::int64_t max_positions = 0;
};

// Everything but biases, qk_norm and windows. Throws Error naming a needed field that is missing (vocab_size,
// hidden_size, intermediate_size, num_hidden_layers, num_attention_heads), a value of the wrong kind, an unknown
// activation or rope type.
nn::DecoderConfig read_decoder_fields(const Json& config, const FieldDefaults& defaults, const std::string& where);

// Windows per layer from use_sliding_window, sliding_window, max_window_layers (full layers at the bottom) and
// layer_types (overrides it). `config.layers` must be set.
std::vector<std::int64_t> read_windows(const Json& config, std::int64_t layers, const std::string& where);

// rope_scaling, if it says anything, replaces rope_parameters; a theta is looked for in the one that counts, then at
// top level, then it is 10000. `config` must hold max_positions.
nn::RopeConfig read_rope(const Json& json, const nn::DecoderConfig& config, const std::string& where);

}  // namespace tilewright::models

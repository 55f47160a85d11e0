// The published config.json of a model that came as GGUF.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "hub/gguf/gguf_file.h"
#include "tensor/dtype.h"

namespace tilewright::hub {

struct GgufModel {
  std::string architecture;  // "llama", "qwen2", "qwen3": the same word as model_type
  std::int64_t layers = 0, hidden = 0, intermediate = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0,
               context = 0;
  bool tied = false;            // no output.weight
  bool attention_bias = false;  // biases of q, k, v (qwen2: always, and none on the output)
  bool mlp_bias = false;
  Json rope_scaling;  // null or as published
};

// Reads the metadata that makes the network. Error for an architecture that is not built in, for a missing field, and
// for a setting that changes the network in a way the published config of that family cannot say (experts, windows,
// scales …).
GgufModel read_gguf_model(const GgufContent& gguf);

// config.json, in the spelling of transformers 4 (rope_theta, rope_scaling, torch_dtype), which version 5 reads as
// well.
nlohmann::ordered_json published_config(const GgufContent& gguf, const GgufModel& model, DType dtype);

// The published parameters of Llama 3's rope scaling, from the tensor of divisors (rope_freqs.weight, one for each pair
// of channels) that GGUF has instead. Null if all divisors are 1. The parameters found are put through the formula
// again; Error if they do not give the tensor back. (Only ratios of low_freq_factor, high_freq_factor and the original
// context length matter: where Llama 3's own values do not fit, low_freq_factor is taken as 1.)
Json llama3_rope_scaling(std::span<const float> divisors, double theta, std::int64_t head_dim,
                         const std::string& where);

}  // namespace tilewright::hub

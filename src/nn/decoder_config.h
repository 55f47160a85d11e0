// What a pre-norm decoder is: every number that its forward pass depends on, as a plain value. Families read it from
// their config.json; `nn/decoder` runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace tilewright::nn {

enum class Activation { silu, gelu, gelu_tanh, relu };
std::string_view activation_name(Activation activation);

enum class RopeType { plain, linear, dynamic, yarn, llama3 };
std::string_view rope_type_name(RopeType type);

// Rotary position embedding. Fields a type does not use keep their defaults.
struct RopeConfig {
  RopeType type = RopeType::plain;
  double theta = 10000;
  double factor = 1;              // all but plain
  double original_positions = 0;  // yarn, llama3: context before the scaling
  // yarn
  double attention_factor = 1;  // multiplies cos and sin
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;  // the ramp's bounds are rounded to whole pairs
  // llama3
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

struct DecoderConfig {
  std::string family;  // model_type of config.json
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t max_positions = 0;  // max_position_embeddings
  double rms_eps = 1e-6;
  Activation activation = Activation::silu;
  bool qkv_bias = false;
  bool o_bias = false;
  bool mlp_bias = false;
  bool qk_norm = false;  // RMSNorm over each head of q and k
  bool tied = false;     // the head is the embedding
  RopeConfig rope;
  std::vector<std::int64_t> windows;     // per layer; 0: full attention; w: a query sees itself and the w-1 before it
  std::vector<std::int64_t> end_tokens;  // eos_token_id of config.json
  std::optional<DType> stated_dtype;     // `dtype` or `torch_dtype`; the file's tensors have the last word

  std::int64_t q_size() const { return heads * head_dim; }
  std::int64_t kv_size() const { return kv_heads * head_dim; }
  // The longest sequence that makes sense: max_positions, or what the rope scaling stretches it to.
  std::int64_t context() const;
  friend bool operator==(const DecoderConfig&, const DecoderConfig&) = default;
};

// One "name value" per line.
std::string to_string(const DecoderConfig& config);

// Throws Error naming the first number that cannot be (zero heads, heads not a multiple of kv_heads, odd head_dim …).
void check_config(const DecoderConfig& config, const std::string& where);

}  // namespace tilewright::nn

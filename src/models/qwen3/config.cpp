#include "models/core/decoder_fields.h"
#include "models/qwen3/qwen3.h"

namespace tilewright::models::qwen3 {

nn::DecoderConfig read_config(const Json& config, const std::string& where) {
  nn::DecoderConfig out =
      read_decoder_fields(config, {.missing_kv_heads = 32, .missing_head_dim = 128, .max_positions = 32768}, where);
  out.qk_norm = true;
  out.qkv_bias = out.o_bias = optional_or<bool>(config, "attention_bias", false, where);
  out.windows = read_windows(config, out.layers, where);
  return out;
}

}  // namespace tilewright::models::qwen3

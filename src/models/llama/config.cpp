#include "models/core/decoder_fields.h"
#include "models/llama/llama.h"

namespace tilewright::models::llama {

nn::DecoderConfig read_config(const Json& config, const std::string& where) {
  nn::DecoderConfig out = read_decoder_fields(config, {.max_positions = 2048}, where);
  out.qkv_bias = out.o_bias = optional_or<bool>(config, "attention_bias", false, where);
  out.mlp_bias = optional_or<bool>(config, "mlp_bias", false, where);
  out.windows.assign(static_cast<std::size_t>(out.layers), 0);  // this family has none
  return out;
}

}  // namespace tilewright::models::llama

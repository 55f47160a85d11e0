#include "models/core/decoder_fields.h"
#include "models/qwen2/qwen2.h"

namespace tilewright::models::qwen2 {

nn::DecoderConfig read_config(const Json& config, const std::string& where) {
  nn::DecoderConfig out = read_decoder_fields(config, {.missing_kv_heads = 32, .max_positions = 32768}, where);
  out.qkv_bias = true;  // always, whatever the file says; o_proj never has one
  out.windows = read_windows(config, out.layers, where);
  return out;
}

}  // namespace tilewright::models::qwen2

#include <fmt/format.h>

#include "models/qwen3/qwen3.h"

namespace tilewright::models::qwen3 {

// The published config.json of each size, without the fields that change no number.
std::vector<PublishedShape> shapes() {
  struct Row {
    const char* name;
    int hidden, intermediate, layers, heads, kv_heads;
    bool tied;
  };
  constexpr Row kRows[] = {
      {"Qwen3-0.6B", 1024, 3072, 28, 16, 8, true},  {"Qwen3-1.7B", 2048, 6144, 28, 16, 8, true},
      {"Qwen3-4B", 2560, 9728, 36, 32, 8, true},    {"Qwen3-8B", 4096, 12288, 36, 32, 8, false},
      {"Qwen3-14B", 5120, 17408, 40, 40, 8, false}, {"Qwen3-32B", 5120, 25600, 64, 64, 8, false},
  };
  std::vector<PublishedShape> out;
  for (const Row& r : kRows)
    out.push_back(
        {r.name,
         fmt::format(R"({{"model_type": "qwen3", "vocab_size": 151936, "hidden_size": {}, "intermediate_size": {},
"num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "head_dim": 128, "hidden_act": "silu",
"max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "rope_scaling": null,
"attention_bias": false, "use_sliding_window": false, "sliding_window": null, "max_window_layers": {},
"tie_word_embeddings": {}, "torch_dtype": "bfloat16", "bos_token_id": 151643, "eos_token_id": 151645}})",
                     r.hidden, r.intermediate, r.layers, r.heads, r.kv_heads, r.layers, r.tied)});
  return out;
}

}  // namespace tilewright::models::qwen3

#include <fmt/format.h>

#include "models/qwen2/qwen2.h"

namespace tilewright::models::qwen2 {

// The published config.json of each size, without the fields that change no number.
std::vector<PublishedShape> shapes() {
  struct Row {
    const char* name;
    int vocab, hidden, intermediate, layers, heads, kv_heads;
    bool tied;
  };
  constexpr Row kRows[] = {
      {"Qwen2-0.5B", 151936, 896, 4864, 24, 14, 2, true},     {"Qwen2-1.5B", 151936, 1536, 8960, 28, 12, 2, true},
      {"Qwen2-7B", 152064, 3584, 18944, 28, 28, 4, false},    {"Qwen2-72B", 152064, 8192, 29568, 80, 64, 8, false},
      {"Qwen2.5-0.5B", 151936, 896, 4864, 24, 14, 2, true},   {"Qwen2.5-1.5B", 151936, 1536, 8960, 28, 12, 2, true},
      {"Qwen2.5-3B", 151936, 2048, 11008, 36, 16, 2, true},   {"Qwen2.5-7B", 152064, 3584, 18944, 28, 28, 4, false},
      {"Qwen2.5-14B", 152064, 5120, 13824, 48, 40, 8, false}, {"Qwen2.5-32B", 152064, 5120, 27648, 64, 40, 8, false},
      {"Qwen2.5-72B", 152064, 8192, 29568, 80, 64, 8, false},
  };
  std::vector<PublishedShape> out;
  for (const Row& r : kRows)
    out.push_back(
        {r.name, fmt::format(R"({{"model_type": "qwen2", "vocab_size": {}, "hidden_size": {}, "intermediate_size": {},
"num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "hidden_act": "silu",
"max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "use_sliding_window": false,
"sliding_window": 32768, "max_window_layers": {}, "tie_word_embeddings": {}, "torch_dtype": "bfloat16",
"bos_token_id": 151643, "eos_token_id": 151645}})",
                             r.vocab, r.hidden, r.intermediate, r.layers, r.heads, r.kv_heads, r.layers, r.tied)});
  return out;
}

}  // namespace tilewright::models::qwen2

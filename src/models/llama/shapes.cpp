#include <fmt/format.h>

#include "models/llama/llama.h"

namespace tilewright::models::llama {

// The published config.json of each size, without the fields that change no number.
std::vector<PublishedShape> shapes() {
  struct Row {
    const char* name;
    int vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, positions;
    double theta;
    int scaling;  // factor of rope scaling llama3; 0: none
    bool tied;
    int bos, eos;
  };
  constexpr Row kRows[] = {
      {"Llama-2-7B", 32000, 4096, 11008, 32, 32, 32, 128, 4096, 1e4, 0, false, 1, 2},
      {"Llama-2-13B", 32000, 5120, 13824, 40, 40, 40, 128, 4096, 1e4, 0, false, 1, 2},
      {"Llama-2-70B", 32000, 8192, 28672, 80, 64, 8, 128, 4096, 1e4, 0, false, 1, 2},
      {"Llama-3-8B", 128256, 4096, 14336, 32, 32, 8, 128, 8192, 5e5, 0, false, 128000, 128001},
      {"Llama-3-70B", 128256, 8192, 28672, 80, 64, 8, 128, 8192, 5e5, 0, false, 128000, 128001},
      {"Llama-3.1-8B", 128256, 4096, 14336, 32, 32, 8, 128, 131072, 5e5, 8, false, 128000, 128001},
      {"Llama-3.1-70B", 128256, 8192, 28672, 80, 64, 8, 128, 131072, 5e5, 8, false, 128000, 128001},
      {"Llama-3.1-405B", 128256, 16384, 53248, 126, 128, 8, 128, 131072, 5e5, 8, false, 128000, 128001},
      {"Llama-3.2-1B", 128256, 2048, 8192, 16, 32, 8, 64, 131072, 5e5, 32, true, 128000, 128001},
      {"Llama-3.2-3B", 128256, 3072, 8192, 28, 24, 8, 128, 131072, 5e5, 32, true, 128000, 128001},
      {"Llama-3.3-70B", 128256, 8192, 28672, 80, 64, 8, 128, 131072, 5e5, 8, false, 128000, 128001},
      {"TinyLlama-1.1B", 32000, 2048, 5632, 22, 32, 4, 64, 2048, 1e4, 0, false, 1, 2},
      {"SmolLM2-135M", 49152, 576, 1536, 30, 9, 3, 64, 8192, 1e5, 0, true, 1, 2},
      {"SmolLM2-360M", 49152, 960, 2560, 32, 15, 5, 64, 8192, 1e5, 0, true, 1, 2},
      {"SmolLM2-1.7B", 49152, 2048, 8192, 24, 32, 32, 64, 8192, 1.3e5, 0, true, 1, 2},
  };
  std::vector<PublishedShape> out;
  for (const Row& r : kRows) {
    const std::string scaling = r.scaling == 0
                                    ? "null"
                                    : fmt::format(R"({{"rope_type": "llama3", "factor": {}, "low_freq_factor": 1,
"high_freq_factor": 4, "original_max_position_embeddings": 8192}})",
                                                  r.scaling);
    out.push_back(
        {r.name, fmt::format(R"({{"model_type": "llama", "vocab_size": {}, "hidden_size": {}, "intermediate_size": {},
"num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "head_dim": {}, "hidden_act": "silu",
"max_position_embeddings": {}, "rms_norm_eps": 1e-5, "rope_theta": {}, "rope_scaling": {}, "attention_bias": false,
"mlp_bias": false, "tie_word_embeddings": {}, "torch_dtype": "bfloat16", "bos_token_id": {}, "eos_token_id": {}}})",
                             r.vocab, r.hidden, r.intermediate, r.layers, r.heads, r.kv_heads, r.head_dim, r.positions,
                             r.theta, scaling, r.tied, r.bos, r.eos)});
  }
  return out;
}

}  // namespace tilewright::models::llama

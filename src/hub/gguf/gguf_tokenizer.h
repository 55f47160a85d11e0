// The published tokenizer files of a model that came as GGUF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hub/gguf/gguf_file.h"

namespace tilewright::hub {

enum class GgufTokenKind : std::int64_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct GgufVocabulary {
  bool sentence_piece = false;  // tokenizer.ggml.model "llama", else "gpt2" (byte-level BPE)
  std::string pre;  // how text is split before merging, for byte-level: "qwen2", "llama-bpe", "smollm", "gpt-2"
  bool add_space_prefix = false, add_bos = false, add_eos = false;
  std::int64_t bos = -1, eos = -1, unknown = -1, padding = -1;
  std::vector<std::int64_t> ends;  // every token that ends an answer, eos first
  std::vector<std::string_view> tokens;
  std::vector<GgufTokenKind> kinds;  // as long as tokens
  std::vector<std::pair<std::string_view, std::string_view>>
      merges;  // best first; rebuilt from scores for SentencePiece
};

// Views into the file. `architecture` decides where files from before tokenizer.ggml.pre do not say how text is split.
// Error for a tokenizer or a split that we do not know (a wrong split would give other ids without a word), lists whose
// lengths do not fit, more tokens than `vocabulary`, and merges whose parts or product are no tokens.
GgufVocabulary read_gguf_vocabulary(const GgufContent& gguf, const std::string& architecture, std::int64_t vocabulary);

std::string tokenizer_json(const GgufVocabulary& vocabulary);
nlohmann::ordered_json tokenizer_config_json(const GgufVocabulary& vocabulary, std::int64_t context);
nlohmann::ordered_json generation_config_json(const GgufVocabulary& vocabulary);

}  // namespace tilewright::hub

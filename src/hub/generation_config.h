// generation_config.json: how a model's authors want it sampled, with transformers' defaults for what is absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::hub {

struct GenerationConfig {
  bool do_sample = false;  // false: greedy, whatever the temperature
  double temperature = 1.0;
  std::int64_t top_k = 50;  // 0: all tokens
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double repetition_penalty = 1.0;
  std::int64_t no_repeat_ngram_size = 0;
  std::int64_t max_length = 20;  // prompt and new tokens; used by transformers only without max_new_tokens
  std::optional<std::int64_t> max_new_tokens, min_new_tokens;
  std::vector<std::string> stop_strings;
  std::vector<std::int64_t> suppress_tokens;
  std::vector<std::vector<std::int64_t>> bad_words_ids;
  std::optional<std::int64_t> pad_token_id, bos_token_id;
  // Every end-of-text id that generation_config.json, config.json or its text_config names, each once, in that order.
  std::vector<std::int64_t> eos_token_ids;

  bool operator==(const GenerationConfig&) const = default;

  // Reads generation_config.json and the ids of config.json of a model directory; an absent file adds nothing, null and
  // negative ids mean none. Throws Error naming file and field for a value of the wrong type or out of range.
  static GenerationConfig load(const std::filesystem::path& model_dir);
};

}  // namespace tilewright::hub

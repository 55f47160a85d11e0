// generation_config.json: how a model's authors want it to be sampled, and where an answer ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

// Defaults are those of the reference implementation for fields that the file leaves out.
struct GenerationConfig {
  bool do_sample = false;
  double temperature = 1;
  std::int64_t top_k = 50;  // 0: all
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  std::optional<std::int64_t> max_new_tokens;
  std::vector<std::int64_t> eos_token_ids;  // a single id is a list of one
  friend bool operator==(const GenerationConfig&, const GenerationConfig&) = default;

  // The file of a model directory; without one, the defaults. Throws Error for a value of the wrong kind; a null counts
  // as missing.
  static GenerationConfig load(const std::filesystem::path& model_dir);
  static GenerationConfig read(const Json& json, const std::string& where);
};

}  // namespace tilewright::hub

// From what a user typed to token ids, and from generated ids back to text; for models with files and for dummy ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::cli {

class PromptText {
 public:
  virtual ~PromptText() = default;
  virtual std::vector<std::int64_t> encode(const std::string& prompt) const = 0;
  // What can be shown after this token: whole characters only. `finish`: what is left.
  virtual std::string push(std::int64_t token) = 0;
  virtual std::string finish() = 0;
  virtual std::vector<std::int64_t> end_tokens() const = 0;  // those the tokenizer knows
};

// Reads tokenizer.json and, unless `raw`, wraps the prompt into the model's chat template if it has one; a rendered
// chat is encoded without adding special tokens, since the template spells them out. Throws Error as the readers of
// these files do.
std::unique_ptr<PromptText> model_prompt_text(const std::filesystem::path& model, bool raw);

// A prompt's UTF-8 bytes are its ids, and the answer is shown as ids.
std::unique_ptr<PromptText> dummy_prompt_text();

}  // namespace tilewright::cli

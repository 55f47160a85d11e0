#include "cli/ask_prompt.h"

#include "hub/chat/chat_template_source.h"
#include "hub/tokenizer/tokenizer.h"

namespace tilewright::cli {
namespace {

class ModelPromptText : public PromptText {
 public:
  ModelPromptText(const std::filesystem::path& model, bool raw)
      : model_(model), tokenizer_(hub::Tokenizer::load(model)), decoder_(tokenizer_, true) {
    chat_ = !raw && hub::load_chat_template(model, false).has_value();
  }

  std::vector<std::int64_t> encode(const std::string& prompt) const override {
    std::vector<std::int32_t> ids;
    if (chat_) {
      hub::OrderedJson message = hub::OrderedJson::object();
      message["role"] = "user";
      message["content"] = prompt;
      hub::OrderedJson messages = hub::OrderedJson::array();
      messages.push_back(std::move(message));
      ids = tokenizer_.encode(hub::render_chat(model_, messages), false);
    } else {
      ids = tokenizer_.encode(prompt, true);
    }
    return {ids.begin(), ids.end()};
  }

  std::string push(std::int64_t token) override { return decoder_.push(static_cast<std::int32_t>(token)); }
  std::string finish() override { return decoder_.finish(); }

  std::vector<std::int64_t> end_tokens() const override {
    const hub::OrderedJson special = hub::special_tokens(model_);
    if (!special.contains("eos_token")) return {};
    const auto id = tokenizer_.token_id(special["eos_token"].get<std::string>());
    return id ? std::vector<std::int64_t>{*id} : std::vector<std::int64_t>{};
  }

 private:
  std::filesystem::path model_;
  hub::Tokenizer tokenizer_;
  hub::StreamDecoder decoder_;
  bool chat_ = false;
};

class DummyPromptText : public PromptText {
 public:
  std::vector<std::int64_t> encode(const std::string& prompt) const override {
    std::vector<std::int64_t> out;
    for (const char c : prompt) out.push_back(static_cast<unsigned char>(c));
    return out;
  }
  std::string push(std::int64_t token) override {
    std::string out = (first_ ? "" : " ") + std::to_string(token);
    first_ = false;
    return out;
  }
  std::string finish() override { return {}; }
  std::vector<std::int64_t> end_tokens() const override { return {}; }

 private:
  bool first_ = true;
};

}  // namespace

std::unique_ptr<PromptText> model_prompt_text(const std::filesystem::path& model, bool raw) {
  return std::make_unique<ModelPromptText>(model, raw);
}

std::unique_ptr<PromptText> dummy_prompt_text() { return std::make_unique<DummyPromptText>(); }

}  // namespace tilewright::cli

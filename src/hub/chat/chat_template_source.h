// Where a model directory keeps its chat template, and what transformers gives it besides the messages.
#pragma once

#include <filesystem>
#include <optional>

#include "hub/chat/template.h"

namespace tilewright::hub {

// The first of: additional_chat_templates/tool_use.jinja (when `with_tools`), chat_template.jinja, "chat_template" of
// tokenizer_config.json — a text, or a list of {name, template} of which "tool_use" is taken when `with_tools`, else
// "default" —, chat_template.json. None when the model has no template. Throws Error for files of another form, a list
// without a default, and what ChatTemplate::parse refuses.
std::optional<ChatTemplate> load_chat_template(const std::filesystem::path& model_dir, bool with_tools);

// bos_token, eos_token and the like as texts, from tokenizer_config.json (a text or {content}) and
// special_tokens_map.json.
OrderedJson special_tokens(const std::filesystem::path& model_dir);

// The variables of a template: messages (keys that are null dropped; reasoning_content, thinking and reasoning made
// aliases, as transformers does), tools and documents (null when there are none), add_generation_prompt. `extra`
// overrides the special tokens; neither may replace the former. Throws Error when messages or tools are not lists of
// objects.
OrderedJson chat_variables(const OrderedJson& messages, const OrderedJson& tools, const OrderedJson& special,
                           const OrderedJson& extra, bool add_generation_prompt);

// All of it for a model directory. Throws Error when the model has no chat template. `tools` null: none.
std::string render_chat(const std::filesystem::path& model_dir, const OrderedJson& messages,
                        const OrderedJson& tools = nullptr, const OrderedJson& extra = OrderedJson::object(),
                        bool add_generation_prompt = true);

}  // namespace tilewright::hub

#include "hub/chat/chat_template_source.h"

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_template = std::size_t{16} << 20;

std::optional<Json> read_if_there(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  Json json = read_json_file(path);
  if (!json.is_object())
    fail({.what = "not a JSON object",
          .where = path.string(),
          .expected = "{…}",
          .found = json_kind(json),
          .fix = "download the file again"});
  return json;
}

[[noreturn]] void bad_template(const fs::path& path, const std::string& expected, const std::string& found) {
  fail({.what = "\"chat_template\" has the wrong form",
        .where = path.string(),
        .expected = expected,
        .found = found,
        .fix = "correct the file or put the template into chat_template.jinja"});
}

// The text of a "chat_template" value.
std::string chosen(const Json& value, const fs::path& path, bool with_tools) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) bad_template(path, "a text or a list of {name, template}", json_kind(value));
  const std::string* otherwise = nullptr;
  std::string names;
  for (const Json& entry : value) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() || !entry.contains("template") ||
        !entry["template"].is_string())
      bad_template(path, "a list of {name, template}", json_kind(entry));
    const auto& name = entry["name"].get_ref<const std::string&>();
    const auto& text = entry["template"].get_ref<const std::string&>();
    if (with_tools && name == "tool_use") return text;
    if (name == "default") otherwise = &text;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!otherwise) bad_template(path, "a template named \"default\"", names.empty() ? "an empty list" : names);
  return *otherwise;
}

void expect_objects(const OrderedJson& list, const char* what) {
  bool good = list.is_array();
  if (good)
    for (const auto& item : list) good = good && item.is_object();
  if (!good)
    fail({.what = std::string(what) + " have the wrong form",
          .where = std::string("the ") + what,
          .expected = "a list of objects",
          .found = list.is_array() ? "a list with other things" : list.type_name(),
          .fix = "see the chat format of the model's page"});
}

OrderedJson prepared(const OrderedJson& message) {
  static constexpr const char* reasoning_names[] = {"reasoning_content", "thinking", "reasoning"};
  OrderedJson out = OrderedJson::object();
  const OrderedJson* reasoning = nullptr;
  for (const char* name : reasoning_names)
    if (!reasoning && message.contains(name) && !message[name].is_null()) reasoning = &message[name];
  if (reasoning) out["thinking"] = *reasoning;
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) out[key] = value;
  if (reasoning) out["reasoning_content"] = *reasoning;
  return out;
}

}  // namespace

std::optional<ChatTemplate> load_chat_template(const fs::path& model_dir, bool with_tools) {
  if (const fs::path file = model_dir / "additional_chat_templates" / "tool_use.jinja"; with_tools && fs::exists(file))
    return ChatTemplate::parse(read_text_file(file, longest_template), file.string());
  if (const fs::path file = model_dir / "chat_template.jinja"; fs::exists(file))
    return ChatTemplate::parse(read_text_file(file, longest_template), file.string());
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const fs::path file = model_dir / name;
    const auto config = read_if_there(file);
    if (config && config->contains("chat_template") && !(*config)["chat_template"].is_null())
      return ChatTemplate::parse(chosen((*config)["chat_template"], file, with_tools),
                                 file.string() + ":chat_template");
  }
  return std::nullopt;
}

OrderedJson special_tokens(const fs::path& model_dir) {
  OrderedJson out = OrderedJson::object();
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const auto config = read_if_there(model_dir / name);
    if (!config) continue;
    for (const auto& [key, value] : config->items()) {
      if (!key.ends_with("_token") || out.contains(key)) continue;
      if (value.is_string())
        out[key] = value.get<std::string>();
      else if (value.is_object() && value.contains("content") && value["content"].is_string())
        out[key] = value["content"].get<std::string>();
    }
  }
  return out;
}

OrderedJson chat_variables(const OrderedJson& messages, const OrderedJson& tools, const OrderedJson& special,
                           const OrderedJson& extra, bool add_generation_prompt) {
  expect_objects(messages, "messages");
  if (!tools.is_null()) expect_objects(tools, "tools");
  OrderedJson out = special;
  out["documents"] = nullptr;
  for (const auto& [key, value] : extra.items()) out[key] = value;
  out["messages"] = OrderedJson::array();
  for (const auto& message : messages) out["messages"].push_back(prepared(message));
  out["tools"] = tools;
  out["add_generation_prompt"] = add_generation_prompt;
  return out;
}

std::string render_chat(const fs::path& model_dir, const OrderedJson& messages, const OrderedJson& tools,
                        const OrderedJson& extra, bool add_generation_prompt) {
  const auto chat = load_chat_template(model_dir, !tools.is_null());
  if (!chat)
    fail({.what = "the model has no chat template",
          .where = model_dir.string(),
          .expected = "chat_template.jinja, or \"chat_template\" in tokenizer_config.json",
          .found = "neither",
          .fix = "give plain text instead (--raw), or add a template"});
  return chat->render(chat_variables(messages, tools, special_tokens(model_dir), extra, add_generation_prompt));
}

}  // namespace tilewright::hub

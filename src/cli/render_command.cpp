#include "cli/render_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/command_line.h"
#include "cli/model_options.h"
#include "cli/standard_input.h"
#include "hub/chat/chat_template_source.h"

namespace tilewright::cli {
namespace {

using hub::OrderedJson;

struct Options {
  std::string model, messages, tools;
  std::vector<std::string> settings;
  bool no_generation_prompt = false;
};

// Like parse_json, but it keeps the order of keys, which templates print.
OrderedJson parse_ordered(const std::string& text, const std::string& where) {
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::parse_error& error) {
    const std::string message = error.what();
    const std::size_t at = message.find("at line");
    fail({.what = "not valid JSON",
          .where = where,
          .expected = "",
          .found = at == message.npos ? message : message.substr(at),
          .fix = "correct the file"});
  }
}

OrderedJson read_ordered(const std::string& path) {
  if (path != "-") return parse_ordered(read_text_file(path), path);
  return parse_ordered(read_standard_input(), "standard input");
}

OrderedJson settings(const std::vector<std::string>& given) {
  OrderedJson out = OrderedJson::object();
  for (const std::string& setting : given) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos)
      fail({.what = "a setting has no name or no value",
            .where = "--set",
            .expected = "name=value",
            .found = setting,
            .fix = ""});
    const std::string value = setting.substr(equals + 1);
    OrderedJson parsed = OrderedJson::parse(value, nullptr, false);
    out[setting.substr(0, equals)] = parsed.is_discarded() ? OrderedJson(value) : std::move(parsed);
  }
  return out;
}

std::string rendered(const Options& options) {
  const OrderedJson messages = read_ordered(options.messages);
  const OrderedJson tools = options.tools.empty() ? OrderedJson(nullptr) : read_ordered(options.tools);
  const OrderedJson extra = settings(options.settings);
  const std::string model = model_or_file(options.model);
  if (std::filesystem::is_directory(model))
    return hub::render_chat(model, messages, tools, extra, !options.no_generation_prompt);
  const auto chat = hub::ChatTemplate::parse(read_text_file(model), model);
  return chat.render(hub::chat_variables(messages, tools, OrderedJson::object(), extra, !options.no_generation_prompt));
}

}  // namespace

void add_render_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Command command(app, "render", "Render a chat template: the text a chat model is given");
  command
      .add_option("model", options->model,
                  "Model directory, a template file, or ORG/NAME that was pulled (default: $MODEL_PATH)")
      .from_environment("MODEL_PATH")
      .not_empty()
      .required();
  command.add_option("--messages", options->messages, "JSON list of {role, content}; - reads standard input")
      .required();
  command.add_option("--tools", options->tools, "JSON list of tools").existing_file();
  command.add_option("--set", options->settings, "Variable of the template, name=value: JSON if it parses, else text")
      .once_each();
  command.add_flag("--no-generation-prompt", options->no_generation_prompt, "End after the last message");
  command.on_run([options] {
    const std::string text = rendered(*options);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
}

}  // namespace tilewright::cli

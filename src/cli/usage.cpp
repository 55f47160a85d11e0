#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest.h"

namespace tilewright::cli {
namespace {

const CLI::App& deepest(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) return deepest(*sub);
  return app;
}

// "tilewright kernels show"
std::string path_of(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) return app.get_name() + " " + path_of(*sub);
  return app.get_name();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    for (const std::string& name : option->get_snames()) out.push_back("-" + name);
  }
  return out;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) out.push_back(sub->get_name());
  return out;
}

// The first word that looks like a flag and is none.
std::string unknown_flag(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = flags_of(app);
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-' || (word[1] >= '0' && word[1] <= '9')) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (std::find(known.begin(), known.end(), flag) == known.end()) return flag;
  }
  return {};
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "." : "; did you mean " + near + "?";
}

}  // namespace

std::string usage_line(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  const CLI::App& where = deepest(app);
  const std::string name = path_of(app);
  const std::string help = " See " + name + " --help";
  if (&where == &app && !arguments.empty() && arguments[0][0] != '-')
    return name + ": unknown command " + arguments[0] + suggestion(arguments[0], commands_of(app)) + help;
  if (&where == &app && arguments.empty()) return name + ": a command is needed." + help;
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error);
  if (const std::string flag = unknown_flag(where, arguments); extra && !flag.empty())
    return name + ": unknown flag " + flag + suggestion(flag, flags_of(where)) + help;
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && (message.back() == ' ' || message.back() == '.')) message.pop_back();
  return name + ": " + message + (message.ends_with('?') ? "" : ".") + help;
}

}  // namespace tilewright::cli

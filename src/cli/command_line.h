// A subcommand's part of the command line. The parser behind it is a large header: commands include this one instead.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tilewright::cli {

// What is asked of one option. Handles are small copies; the parser owns what they name.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required();
  Option show_default();  // in --help
  Option from_environment(const std::string& variable);
  Option once_each();  // a list's option takes one value each time it is given
  Option range(std::int64_t least, std::int64_t most);
  Option one_of(std::vector<std::string> words);
  Option existing_file();
  Option not_empty();
  // What is wrong with a text, or nothing if it will do.
  Option check(std::function<std::string(const std::string&)> complaint);

 private:
  CLI::Option* option_;
};

class Command {
 public:
  // Adds the subcommand `name`.
  Command(CLI::App& parent, const std::string& name, const std::string& description);
  explicit Command(CLI::App& command) : app_(&command) {}
  operator CLI::App&() const { return *app_; }

  // "--name", or "name" for a positional one. `value` must live until the command has run and is the default.
  // T: std::string, int, std::int64_t, std::uint64_t, double, an optional of the last three, std::vector<std::string>.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);

  void footer(const std::string& text);
  void on_run(std::function<void()> run);

  void take_unknown_words();
  std::vector<std::string> unknown_words() const;

  // It may be called with one of its own subcommands, and without.
  void subcommand_is_optional();
  bool has_subcommand() const;

 private:
  CLI::App* app_;
};

}  // namespace tilewright::cli

#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <optional>

namespace tilewright::cli {

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::from_environment(const std::string& variable) {
  option_->envname(variable);
  return *this;
}

Option Option::once_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::range(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::one_of(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)));
  return *this;
}

Option Option::existing_file() {
  option_->check(CLI::ExistingFile);
  return *this;
}

Option Option::not_empty() {
  return check([](const std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); });
}

Option Option::check(std::function<std::string(const std::string&)> complaint) {
  option_->check(std::move(complaint), "");
  return *this;
}

Command::Command(CLI::App& parent, const std::string& name, const std::string& description)
    : app_(parent.add_subcommand(name, description)) {}

template <typename T>
Option Command::add_option(const std::string& name, T& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&);
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

void Command::add_flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::on_run(std::function<void()> run) { app_->callback(std::move(run)); }

void Command::take_unknown_words() { app_->allow_extras(); }

std::vector<std::string> Command::unknown_words() const { return app_->remaining(); }

void Command::subcommand_is_optional() { app_->require_subcommand(0, 1); }

bool Command::has_subcommand() const { return !app_->get_subcommands().empty(); }

}  // namespace tilewright::cli

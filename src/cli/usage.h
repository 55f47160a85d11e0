// Wrong usage in one helpful line.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tilewright::cli {

// "tilewright ask: unknown flag --promt; did you mean --prompt? See tilewright ask --help"
std::string usage_line(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments);

// A combination of flags that parsing cannot refuse: exit 2. `message` is a phrase.
class WrongUsage : public std::exception {
 public:
  WrongUsage(std::string command, std::string message)
      : message_("tilewright " + command + ": " + message + ". See tilewright " + command + " --help") {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace tilewright::cli

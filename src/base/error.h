// The one exception type for mistakes of users and their environment (DESIGN "Errors").
// Broken invariants of our own use TW_CHECK, which aborts with the expression.
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace tilewright {

// Every field is a phrase without a trailing full stop. `what` is mandatory, the others may be empty.
struct ErrorText {
  std::string what;      // what went wrong: "header is longer than the file"
  std::string where;     // file, tensor, line, flag: "model.safetensors"
  std::string expected;  // "at most 1024 bytes"
  std::string found;     // "18446744073709551615"
  std::string fix;       // what the user can do: "download the file again"
  std::optional<int> code = {};  // a vendor's code, where one is known
  std::string name = {};         // and its name: "ACL_ERROR_RT_STREAM_CAPTURED"
};

class Error : public std::exception {
 public:
  explicit Error(ErrorText text);
  const ErrorText& text() const { return text_; }
  // The message as the command line prints it: one line for what and where, then "expected …, found …", then "fix: …".
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorText text_;
  std::string message_;
};

// Throws Error.
[[noreturn]] void fail(ErrorText text);

// Prints the broken invariant and aborts.
[[noreturn]] void invariant_broken(const char* expression, const char* file, int line);

}  // namespace tilewright

#define TW_CHECK(condition) \
  ((condition) ? (void)0 : ::tilewright::invariant_broken(#condition, __FILE__, __LINE__))

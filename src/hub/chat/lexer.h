// Cuts a template into tokens exactly as jinja2's lexer does with trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub::jinja {

enum class TokenKind : std::uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  operation,
  end
};

struct Token {
  TokenKind kind;
  int line;
  std::string text;  // data and strings: the decoded text; operations: the characters
  std::int64_t integer = 0;
  double real = 0;
};

// `source` is valid UTF-8; `name` is the template's in errors. Throws Error with name and line.
std::vector<Token> tokenize(std::string_view source, const std::string& name);

// A syntax error at a line of a template.
[[noreturn]] void fail_at(const std::string& name, int line, const std::string& what, const std::string& expected = "",
                          const std::string& found = "");

}  // namespace tilewright::hub::jinja

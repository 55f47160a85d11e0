// The words of a program's text, with their places. For ir/parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::tile {

struct Token {
  enum class Kind { word, value, number, none, sign, end } kind = Kind::end;
  std::string_view text;  // of a value: without the %
  std::size_t line = 1, column = 1;
};

class Lexer {
 public:
  Lexer(std::string_view text, std::string source);

  const Token& peek() const { return token_; }
  Token next();
  bool at(std::string_view text) const { return token_.kind != Token::Kind::value && token_.text == text; }
  bool accept(std::string_view text);  // a word or sign; takes it if it is next
  void expect(std::string_view text);
  std::string_view word(std::string_view what);  // letters, digits, _ and ., not beginning with a digit
  std::string_view value();                      // after %
  bool accept_none();                            // -
  std::int64_t integer(std::string_view what, std::int64_t least, std::int64_t most);
  double number();

  // Throws Error at the given token.
  [[noreturn]] void refuse(const Token& at, std::string what, std::string expected, std::string found,
                           std::string fix = "correct the text, or print the program again") const;
  [[noreturn]] void unexpected(std::string_view expected) const;
  std::string place(const Token& at) const;

 private:
  void advance();
  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0, line_ = 1, line_start_ = 0;
  Token token_;
};

}  // namespace tilewright::tile

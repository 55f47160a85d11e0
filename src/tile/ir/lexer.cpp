#include "tile/ir/lexer.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace tilewright::tile {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

// Bytes of a hostile text that an error may repeat.
std::string shown(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the text";
  std::string out = token.kind == Token::Kind::value ? "'%" : "'";
  for (const char c : token.text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (token.text.size() > 40 ? "…'" : "'");
}

}  // namespace

Lexer::Lexer(std::string_view text, std::string source) : text_(text), source_(std::move(source)) { advance(); }

void Lexer::advance() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      break;
    }
  }
  token_ = {Token::Kind::end, {}, line_, at_ - line_start_ + 1};
  if (at_ >= text_.size()) return;
  const char first = text_[at_];
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
  std::size_t end = at_ + 1;
  const auto take = [&](auto&& belongs) {
    while (end < text_.size() && belongs(text_[end])) ++end;
  };
  if (is_letter(first)) {
    token_.kind = Token::Kind::word;
    take(in_word);
  } else if (first == '%' && (is_letter(second) || is_digit(second))) {
    token_.kind = Token::Kind::value;
    ++at_;
    take(in_word);
  } else if (is_digit(first) || (first == '-' && (is_letter(second) || is_digit(second)))) {
    token_.kind = Token::Kind::number;
    take([](char c) { return in_word(c) || c == '+' || c == '-'; });
  } else {
    token_.kind = first == '-' ? Token::Kind::none : Token::Kind::sign;
  }
  token_.text = text_.substr(at_, end - at_);
  at_ = end;
}

Token Lexer::next() {
  const Token token = token_;
  advance();
  return token;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view text) {
  if (!accept(text)) unexpected(fmt::format("'{}'", text));
}

bool Lexer::accept_none() {
  if (token_.kind != Token::Kind::none) return false;
  advance();
  return true;
}

std::string_view Lexer::word(std::string_view what) {
  if (token_.kind != Token::Kind::word) unexpected(what);
  return next().text;
}

std::string_view Lexer::value() {
  if (token_.kind != Token::Kind::value) unexpected("a value such as %3");
  return next().text;
}

std::int64_t Lexer::integer(std::string_view what, std::int64_t least, std::int64_t most) {
  if (token_.kind != Token::Kind::number) unexpected(what);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), number);
  if (error != std::errc() || end != token_.text.data() + token_.text.size() || number < least || number > most)
    unexpected(fmt::format("{} in {} … {}", what, least, most));
  advance();
  return number;
}

double Lexer::number() {
  // inf and nan are words, -inf and -nan numbers.
  if (token_.kind != Token::Kind::number && !at("inf") && !at("nan")) unexpected("a number");
  double number = 0;
  const auto [end, error] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), number);
  if (error != std::errc() || end != token_.text.data() + token_.text.size()) unexpected("a number");
  advance();
  return number;
}

std::string Lexer::place(const Token& at) const {
  return fmt::format("{}, line {}, column {}", source_, at.line, at.column);
}

void Lexer::refuse(const Token& at, std::string what, std::string expected, std::string found, std::string fix) const {
  fail({.what = std::move(what),
        .where = place(at),
        .expected = std::move(expected),
        .found = std::move(found),
        .fix = std::move(fix)});
}

void Lexer::unexpected(std::string_view expected) const {
  refuse(token_, "a tile program's text cannot be read", std::string(expected), shown(token_));
}

}  // namespace tilewright::tile

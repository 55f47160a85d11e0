#include "hub/chat/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "base/error.h"
#include "hub/chat/text.h"

namespace tilewright::hub::jinja {
namespace {

// The length of the white space (any of Unicode) that starts at `at`.
std::size_t space_after(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  while (at < text.size()) {
    std::size_t width = 1;
    while (at + width < text.size() && (static_cast<unsigned char>(text[at + width]) & 0xC0) == 0x80) ++width;
    if (!is_space(decode(text.substr(at, width))[0])) break;
    at += width;
  }
  return at - begin;
}

int newlines(std::string_view text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name) : name_(name) {
    // Line ends become \n, and one at the very end is dropped.
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
      text_ += source[i] == '\r' ? '\n' : source[i];
    }
    if (!text_.empty() && text_.back() == '\n') text_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < text_.size()) read_root();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void error(const std::string& what) { fail_at(name_, line_, what); }
  std::string_view rest() const { return std::string_view(text_).substr(at_); }
  bool starts(std::string_view with, std::size_t from) const {
    return std::string_view(text_).substr(std::min(from, text_.size())).starts_with(with);
  }

  Token& push(TokenKind kind, std::string text) {
    tokens_.push_back({kind, line_, std::move(text)});
    return tokens_.back();
  }

  void advance_to(std::size_t end) {
    line_ += newlines(std::string_view(text_).substr(at_, end - at_));
    if (end > at_) line_starting_ = text_[end - 1] == '\n';
    at_ = end;
  }

  // Emits text before a tag; `sign` is the tag's - or +, `lstrip` whether white space of its line goes away.
  void emit_data(std::size_t end, char sign, bool lstrip) {
    const std::string_view data = std::string_view(text_).substr(at_, end - at_);
    std::string kept(data);
    if (sign == '-') {
      kept = strip(data, Side::right);
    } else if (sign != '+' && lstrip) {
      const std::size_t newline = data.rfind('\n');
      const std::size_t line_begin = newline == data.npos ? 0 : newline + 1;
      if ((line_begin > 0 || line_starting_) && line_begin < data.size() &&
          space_after(data, line_begin) == data.size() - line_begin)
        kept = data.substr(0, line_begin);
    }
    if (!kept.empty()) push(TokenKind::data, std::move(kept));
    advance_to(end);
  }

  // The sign after an opening at `at`, or 0.
  char sign_at(std::size_t at) const {
    return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
  }

  void read_root() {
    std::size_t open = at_;
    for (;; ++open) {
      open = text_.find('{', open);
      if (open == text_.npos || open + 1 >= text_.size()) {
        push(TokenKind::data, std::string(rest()));
        advance_to(text_.size());
        return;
      }
      if (text_[open + 1] == '{' || text_[open + 1] == '%' || text_[open + 1] == '#') break;
    }
    const char type = text_[open + 1], sign = sign_at(open + 2);
    const std::size_t inside = open + 2 + (sign ? 1 : 0);
    emit_data(open, sign, type != '{');
    if (type == '#') {
      read_comment(inside);
    } else if (const std::size_t raw = type == '%' ? raw_begin(inside) : 0; raw) {
      advance_to(raw);
      read_raw();
    } else {
      push(type == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
      advance_to(inside);
      read_code(type == '{');
    }
  }

  // Where the text after "{% raw %}" starts, or 0 if the block at `inside` is another one.
  std::size_t raw_begin(std::size_t inside) const {
    std::size_t i = inside + space_after(text_, inside);
    if (!starts("raw", i)) return 0;
    i += 3;
    i += space_after(text_, i);
    if (starts("-%}", i)) return i + 3 + space_after(text_, i + 3);
    return starts("%}", i) ? i + 2 : 0;
  }

  // The end of a closing tag at `at` — "+%}", "-%}" with white space, "%}" with one newline — or 0.
  std::size_t closing(std::size_t at, std::string_view mark, bool trim) const {
    if (trim && text_[at] == '+' && starts(mark, at + 1)) return at + 1 + mark.size();
    if (text_[at] == '-' && starts(mark, at + 1))
      return at + 1 + mark.size() + space_after(text_, at + 1 + mark.size());
    if (!starts(mark, at)) return 0;
    const std::size_t end = at + mark.size();
    return trim && end < text_.size() && text_[end] == '\n' ? end + 1 : end;
  }

  void read_comment(std::size_t inside) {
    for (std::size_t i = inside; i < text_.size(); ++i)
      if (const std::size_t end = closing(i, "#}", true)) {
        advance_to(end);
        return;
      }
    if (inside >= text_.size()) return advance_to(text_.size());  // jinja2 lets an opening at the very end pass
    error("missing end of comment tag");
  }

  void read_raw() {
    for (std::size_t open = text_.find("{%", at_); open != text_.npos; open = text_.find("{%", open + 1)) {
      const char sign = sign_at(open + 2);
      std::size_t i = open + 2 + (sign ? 1 : 0);
      i += space_after(text_, i);
      if (!starts("endraw", i)) continue;
      i += 6;
      i += space_after(text_, i);
      const std::size_t end = i < text_.size() ? closing(i, "%}", true) : 0;
      if (!end) continue;
      emit_data(open, sign, true);
      advance_to(end);
      return;
    }
    if (at_ < text_.size()) error("missing end of raw directive");
  }

  void read_code(bool variable) {
    std::string open_brackets;
    while (at_ < text_.size()) {
      if (open_brackets.empty())
        if (const std::size_t end = closing(at_, variable ? "}}" : "%}", !variable)) {
          push(variable ? TokenKind::variable_end : TokenKind::block_end, "");
          advance_to(end);
          return;
        }
      if (const std::size_t space = space_after(text_, at_)) {
        advance_to(at_ + space);
        continue;
      }
      if (read_number() || read_name() || read_string()) continue;
      read_operation(open_brackets);
    }
    // The parser reports what is missing; jinja2 too sees the end of the template here.
  }

  // digits with single underscores between them, from `i`; returns the end
  std::size_t digits(std::size_t i) const {
    while (i < text_.size() && (is_ascii_digit(text_[i]) || (text_[i] == '_' && i > 0 && is_ascii_digit(text_[i - 1]) &&
                                                             i + 1 < text_.size() && is_ascii_digit(text_[i + 1]))))
      ++i;
    return i;
  }

  bool read_number() {
    if (!is_ascii_digit(text_[at_])) return false;
    const auto plain = [&](std::size_t end) {
      std::string out(text_, at_, end - at_);
      std::erase(out, '_');
      return out;
    };
    if (at_ == 0 || text_[at_ - 1] != '.') {
      std::size_t end = digits(at_);
      const std::size_t whole = end;
      if (end + 1 < text_.size() && text_[end] == '.' && is_ascii_digit(text_[end + 1])) end = digits(end + 1);
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        std::size_t e = end + 1;
        if (e < text_.size() && (text_[e] == '+' || text_[e] == '-')) ++e;
        if (e < text_.size() && is_ascii_digit(text_[e])) end = digits(e);
      }
      if (end != whole) {
        push(TokenKind::real, plain(end)).real = std::strtod(plain(end).c_str(), nullptr);
        advance_to(end);
        return true;
      }
    }
    int base = 10;
    std::size_t end = at_ + 1;
    if (text_[at_] == '0') {
      const char mark = end < text_.size() ? static_cast<char>(text_[end] | 0x20) : '\0';
      const int wanted = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
      const auto fits = [&](char c) {
        const int digit = is_ascii_digit(c)                        ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                   : 99;
        return digit < wanted;
      };
      std::size_t i = end + 1;
      while (wanted && i < text_.size() &&
             (fits(text_[i]) || (text_[i] == '_' && i + 1 < text_.size() && fits(text_[i + 1]))))
        ++i;
      if (wanted && i > end + 1) {
        base = wanted;
        end = i;
      } else {
        while (end < text_.size() &&
               (text_[end] == '0' || (text_[end] == '_' && end + 1 < text_.size() && text_[end + 1] == '0')))
          ++end;
      }
    } else {
      end = digits(at_);
    }
    const std::string number = plain(end);
    Token& token = push(TokenKind::integer, number);
    const char* first = number.data() + (base == 10 ? 0 : 2);
    const auto [_, code] = std::from_chars(first, number.data() + number.size(), token.integer, base);
    if (code != std::errc()) error("integer does not fit 64 bits: " + number);
    advance_to(end);
    return true;
  }

  bool read_name() {
    std::size_t end = at_;
    while (end < text_.size()) {
      std::size_t width = 1;
      while (end + width < text_.size() && (static_cast<unsigned char>(text_[end + width]) & 0xC0) == 0x80) ++width;
      if (!is_word(decode(std::string_view(text_).substr(end, width))[0])) break;
      end += width;
    }
    if (end == at_) return false;
    push(TokenKind::name, text_.substr(at_, end - at_));
    advance_to(end);
    return true;
  }

  bool read_string() {
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') return false;
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) error("string is not closed");
    push(TokenKind::string, unescape(std::string_view(text_).substr(at_ + 1, end - at_ - 1)));
    advance_to(end + 1);
    return true;
  }

  void append_code_point(std::string& out, std::uint32_t c) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) error("string holds an escape that is no character");
    append_utf8(out, static_cast<char32_t>(c));
  }

  // Python's unicode-escape decoding, applied as jinja2 does: non-ASCII characters are escaped before.
  std::string unescape(std::string_view raw) {
    std::string out;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\') {
        out += raw[i];
        continue;
      }
      const char c = raw[++i];  // never past the end: a backslash always carries a character
      static constexpr std::string_view from = "\\'\"abfnrtv", to = "\\'\"\a\b\f\n\r\t\v";
      if (c == '\n') continue;
      if (const std::size_t k = from.find(c); k != from.npos) {
        out += to[k];
      } else if (c >= '0' && c <= '7') {
        std::uint32_t value = 0;
        std::size_t n = 0;
        while (n < 3 && i + n < raw.size() && raw[i + n] >= '0' && raw[i + n] <= '7')
          value = value * 8 + static_cast<std::uint32_t>(raw[i + n++] - '0');
        append_code_point(out, value);
        i += n - 1;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const std::size_t width = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        std::uint32_t value = 0;
        const std::string_view hex = raw.substr(i + 1, width);
        const auto [end, code] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
        if (hex.size() < width || end != hex.data() + width || code != std::errc())
          error(std::string("truncated \\") + c + " escape in a string");
        append_code_point(out, value);
        i += width;
      } else if (c == 'N') {
        error("\\N{…} escapes are unsupported");
      } else if (static_cast<unsigned char>(c) < 0x80) {
        out += '\\';
        out += c;
      } else {
        // "\é" becomes "\\xe9" before decoding, so that the backslash is taken for an escaped one.
        std::size_t width = 1;
        while (i + width < raw.size() && (static_cast<unsigned char>(raw[i + width]) & 0xC0) == 0x80) ++width;
        const auto point = static_cast<unsigned>(decode(raw.substr(i, width))[0]);
        std::array<char, 16> escaped;
        std::snprintf(escaped.data(), escaped.size(),
                      point < 0x100     ? "\\x%02x"
                      : point < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                      point);
        out += escaped.data();
        i += width - 1;
      }
    }
    return out;
  }

  void read_operation(std::string& open_brackets) {
    static constexpr std::array<std::string_view, 6> two = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view one = "+-/*%~[](){}><=.:|,;";
    std::size_t width = 0;
    for (std::string_view operation : two)
      if (rest().starts_with(operation)) width = 2;
    if (!width && one.find(text_[at_]) != one.npos) width = 1;
    if (!width) error("unexpected character '" + encode(decode(rest().substr(0, 4)).substr(0, 1)) + "'");
    const char c = text_[at_];
    if (width == 1 && (c == '(' || c == '[' || c == '{')) {
      open_brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (width == 1 && (c == ')' || c == ']' || c == '}')) {
      if (open_brackets.empty()) error(std::string("unexpected '") + c + "'");
      if (open_brackets.back() != c)
        error(std::string("unexpected '") + c + "', expected '" + open_brackets.back() + "'");
      open_brackets.pop_back();
    }
    push(TokenKind::operation, text_.substr(at_, width));
    advance_to(at_ + width);
  }

  const std::string& name_;
  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& name) { return Lexer(source, name).run(); }

void fail_at(const std::string& name, int line, const std::string& what, const std::string& expected,
             const std::string& found) {
  fail({.what = what, .where = name + ":" + std::to_string(line), .expected = expected, .found = found, .fix = ""});
}

}  // namespace tilewright::hub::jinja

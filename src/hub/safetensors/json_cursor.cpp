#include "hub/safetensors/json_cursor.h"

#include <limits>

namespace tilewright::hub {
namespace {

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xe0 | point >> 12);
    } else {
      put(0xf0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3f));
    }
    put(0x80 | (point >> 6 & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonCursor::mismatch(std::string reason) const { throw Mismatch{std::move(reason), at_}; }

char JsonCursor::peek() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
    ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::accept(char wanted) {
  if (peek() != wanted || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void JsonCursor::expect(char wanted) {
  if (!accept(wanted)) mismatch(std::string("\"") + wanted + "\" wanted");
}

bool JsonCursor::accept_null() {
  if (peek() != 'n' || text_.substr(at_, 4) != "null") return false;
  at_ += 4;
  return true;
}

std::string JsonCursor::string() {
  if (!accept('"')) mismatch("a string wanted");
  std::string out;
  for (;;) {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20)
      ++at_;
    out += text_.substr(from, at_ - from);
    if (at_ == text_.size()) mismatch("a string does not end");
    if (text_[at_] == '"') return ++at_, out;
    if (text_[at_] != '\\') mismatch("a control character inside a string");
    ++at_;
    append_escape(out);
  }
}

void JsonCursor::append_escape(std::string& out) {
  const char c = at_ < text_.size() ? text_[at_++] : '\0';
  switch (c) {
    case '"':
    case '\\':
    case '/':
      out += c;
      return;
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'n':
      out += '\n';
      return;
    case 'r':
      out += '\r';
      return;
    case 't':
      out += '\t';
      return;
    case 'u':
      break;
    default:
      mismatch("an unknown escape in a string");
  }
  std::uint32_t point = hex4();
  if (point >= 0xd800 && point < 0xdc00) {
    if (text_.substr(at_, 2) != "\\u") mismatch("half of a surrogate pair");
    at_ += 2;
    const std::uint32_t low = hex4();
    if (low < 0xdc00 || low > 0xdfff) mismatch("half of a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  } else if (point >= 0xdc00 && point <= 0xdfff) {
    mismatch("half of a surrogate pair");
  }
  append_utf8(out, point);
}

std::uint32_t JsonCursor::hex4() {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (is_digit(c))
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
    else if (c >= 'A' && c <= 'F')
      value = value * 16 + static_cast<std::uint32_t>(c - 'A' + 10);
    else
      mismatch("four hexadecimal digits wanted");
  }
  return value;
}

std::uint64_t JsonCursor::unsigned_number() {
  if (!is_digit(peek())) mismatch("a non-negative integer wanted");
  const std::size_t from = at_;
  std::uint64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value))
      mismatch("an integer does not fit 64 bits");
  if (text_[from] == '0' && at_ - from > 1) mismatch("an integer with a leading zero");
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
    mismatch("an integer wanted");
  return value;
}

void JsonCursor::skip_value(int depth) {
  if (depth > 128) mismatch("nested too deeply");
  if (accept('{')) {
    if (accept('}')) return;
    do {
      string();
      expect(':');
      skip_value(depth + 1);
    } while (accept(','));
    return expect('}');
  }
  if (accept('[')) {
    if (accept(']')) return;
    do skip_value(depth + 1);
    while (accept(','));
    return expect(']');
  }
  if (peek() == '"') return void(string());
  for (const std::string_view word : {"null", "true", "false"})
    if (text_.substr(at_, word.size()) == word) return void(at_ += word.size());
  const auto digits = [&] {
    if (at_ == text_.size() || !is_digit(text_[at_])) mismatch("a value wanted");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  const auto next_is = [&](std::string_view any) {
    return at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos;
  };
  if (next_is("-")) ++at_;
  digits();
  if (next_is(".")) ++at_, digits();
  if (next_is("eE")) {
    ++at_;
    if (next_is("+-")) ++at_;
    digits();
  }
}

void JsonCursor::expect_end() {
  peek();
  if (at_ != text_.size()) mismatch("something follows the closing brace");
}

}  // namespace tilewright::hub

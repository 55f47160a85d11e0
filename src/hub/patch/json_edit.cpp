#include "hub/patch/json_edit.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

struct JsonMember {
  std::size_t key = 0, key_end = 0;  // with its quotes
  std::size_t value = 0, end = 0;
};

struct TopLevel {
  std::size_t open = 0, close = 0;  // of "{" and "}"
  std::vector<JsonMember> members;
};

// Walks over a JSON text without building values: what stays as it is need not fit into a number or a map. Python's
// NaN and Infinity are let through, since transformers writes them.
class JsonScan {
 public:
  JsonScan(std::string_view text, const std::string& where) : text_(text), where_(where) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  }

  TopLevel top_level() {
    if (!is_valid_utf8(text_)) {
      at_ = 0;
      for (Utf8Step step = utf8_step(text_); step.kind == Utf8Kind::character; step = utf8_step(text_.substr(at_)))
        at_ += std::size_t(step.bytes);
      refuse("UTF-8 text");
    }
    TopLevel top;
    spaces();
    top.open = at_;
    if (peek() != '{') refuse("a JSON object, {…}");
    ++at_;
    spaces();
    if (peek() != '}')
      for (;;) {
        JsonMember member;
        spaces();
        member.key = at_;
        string();
        member.key_end = at_;
        colon();
        member.value = at_;
        value();
        member.end = at_;
        top.members.push_back(member);
        spaces();
        if (peek() != ',') break;
        ++at_;
      }
    if (peek() != '}') refuse("\",\" or \"}\"");
    top.close = at_++;
    spaces();
    if (at_ != text_.size()) refuse("the end of the text");
    return top;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  void colon() {
    spaces();
    if (peek() != ':') refuse("\":\"");
    ++at_;
    spaces();
  }

  // Without recursion: a hostile text is as deep as it is long.
  void value() {
    std::string open;  // the closing brackets that are due
    for (;;) {
      spaces();
      const char c = peek();
      if (c == '{' || c == '[') {
        ++at_;
        spaces();
        const char closing = c == '{' ? '}' : ']';
        if (peek() != closing) {
          open += closing;
          if (c == '{') key();
          continue;
        }
        ++at_;
      } else {
        scalar();
      }
      for (;;) {  // a value has ended
        if (open.empty()) return;
        spaces();
        if (peek() == ',') {
          ++at_;
          if (open.back() == '}') key();
          break;
        }
        if (peek() != open.back()) refuse(std::string("\",\" or \"") + open.back() + "\"");
        ++at_;
        open.pop_back();
      }
    }
  }
  void key() {
    spaces();
    string();
    colon();
  }
  void scalar() {
    if (peek() == '"') return string();
    for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity", "-Infinity"})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return;
      }
    number();
  }
  bool digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }
  void number() {
    if (peek() == '-') ++at_;
    if (peek() == '0')
      ++at_;
    else if (!digits())
      refuse("a value");
    if (peek() == '.') {
      ++at_;
      if (!digits()) refuse("a digit");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) refuse("a digit");
    }
  }
  unsigned escaped_unit() {
    unsigned unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      if (c >= '0' && c <= '9')
        unit = unit << 4 | unsigned(c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        unit = unit << 4 | unsigned((c | 0x20) - 'a' + 10);
      else
        refuse("four hexadecimal digits");
    }
    return unit;
  }
  void string() {
    if (peek() != '"') refuse("a string");
    ++at_;
    for (;;) {
#ifndef TILEWRIGHT_PLANTED_FAULT  // fuzz/json_edit.cmake shows that the fuzz target notices when this check is gone
      if (at_ >= text_.size()) refuse("the end of a string");
#endif
      const char c = text_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) refuse("no control character in a string");
      ++at_;
      if (c != '\\') continue;
      const char escape = peek();
      if (escape == '\0' || std::string_view("\"\\/bfnrtu").find(escape) == std::string_view::npos) refuse("an escape");
      ++at_;
      if (escape != 'u') continue;
      const unsigned unit = escaped_unit();
      if (unit >= 0xDC00 && unit <= 0xDFFF) refuse("the first half of a surrogate pair before the second");
      if (unit < 0xD800 || unit > 0xDBFF) continue;
      if (text_.substr(at_, 2) != "\\u") refuse("the second half of a surrogate pair");
      at_ += 2;
      const unsigned low = escaped_unit();
      if (low < 0xDC00 || low > 0xDFFF) refuse("the second half of a surrogate pair");
    }
    ++at_;
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? at_ + 1 : at_ - newline;
    std::string found = "the end of the text";
    if (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      found = c >= 0x20 && c < 0x7F ? "\"" + std::string(1, text_[at_]) + "\"" : "byte " + std::to_string(c);
    }
    fail({.what = "not valid JSON",
          .where = where_ + ", line " + std::to_string(line) + ", column " + std::to_string(column),
          .expected = expected,
          .found = found,
          .fix = "correct the file, or download it again"});
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

std::string key_text(std::string_view text, const JsonMember& member, const std::string& where) {
  const std::string_view quoted = text.substr(member.key, member.key_end - member.key);
  if (quoted.find('\\') == std::string_view::npos) return std::string(quoted.substr(1, quoted.size() - 2));
  return parse_json(quoted, where).get<std::string>();
}

// The position in `members`, or its size.
std::size_t find_member(std::string_view text, const TopLevel& top, std::string_view key, const std::string& where) {
  std::size_t found = top.members.size();
  for (std::size_t i = 0; i < top.members.size(); ++i) {
    if (key_text(text, top.members[i], where) != key) continue;
    if (found != top.members.size())
      fail({.what = "\"" + std::string(key) + "\" comes twice",
            .where = where,
            .expected = "one member of this name",
            .found = "two, of which readers would take different ones",
            .fix = "remove one"});
    found = i;
  }
  return found;
}

Json value_at(std::string_view text, const JsonMember& member, const std::string& where) {
  return parse_json(text.substr(member.value, member.end - member.value), where);
}

// How the file is laid out around its last member (or another that is given).
struct JsonLayout {
  std::string newline;  // empty: all in one line
  std::string indent;   // of a top-level member
  std::string comma = ",", colon = ":";
};

JsonLayout layout_of(std::string_view text, const TopLevel& top, std::size_t at) {
  JsonLayout layout;
  if (top.members.empty()) {
    const std::string_view gap = text.substr(top.open + 1, top.close - top.open - 1);
    if (gap.find('\n') != std::string_view::npos)
      layout.newline = gap.find('\r') != std::string_view::npos ? "\r\n" : "\n";
    layout.indent = "  ";
    layout.comma = ", ";
    layout.colon = ": ";
    return layout;
  }
  const JsonMember& member = top.members[at];
  std::size_t begin = member.key;
  while (begin > 0 && text[begin - 1] != ',' && text[begin - 1] != '{') --begin;
  const std::string_view gap = text.substr(begin, member.key - begin);
  if (const std::size_t end = gap.find_last_of("\r\n"); end != std::string_view::npos) {
    layout.newline = gap.find('\n') == std::string_view::npos   ? "\r"
                     : gap.find('\r') != std::string_view::npos ? "\r\n"
                                                                : "\n";
    layout.indent = gap.substr(end + 1);
    layout.colon = ": ";
  } else {
    const std::string_view between = text.substr(member.key_end, member.value - member.key_end);
    const bool wide = between.find(' ') != std::string_view::npos;
    layout.comma = wide ? ", " : ",";
    layout.colon = wide ? ": " : ":";
  }
  return layout;
}

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

void append_laid_out(std::string& out, const Json& value, const JsonLayout& layout, const std::string& outer) {
  if (!value.is_structured() || value.empty()) {
    out += dumped(value);
    return;
  }
  const std::string inner = outer + (layout.indent.empty() ? "  " : layout.indent);
  const bool lines = !layout.newline.empty();
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (!first) out += lines ? "," : layout.comma;
    first = false;
    if (lines) out += layout.newline + inner;
    if (value.is_object()) out += dumped(it.key()) + layout.colon;
    append_laid_out(out, *it, layout, inner);
  }
  if (lines) out += layout.newline + outer;
  out += value.is_object() ? '}' : ']';
}

std::string laid_out(const Json& value, const JsonLayout& layout) {
  std::string out;
  append_laid_out(out, value, layout, layout.indent);
  return out;
}

std::string without(std::string_view text, const TopLevel& top, std::size_t i) {
  const auto& members = top.members;
  std::size_t begin = 0, end = members[i].end;
  if (i > 0) {
    begin = members[i - 1].end;  // its comma and the spaces before the key go, too
  } else if (members.size() > 1) {
    begin = members[0].key;
    end = members[1].key;
  } else {
    begin = top.open + 1;
  }
  return std::string(text.substr(0, begin)) + std::string(text.substr(end));
}

std::string with_added(std::string_view text, const TopLevel& top, std::string_view key, const Json& value) {
  const bool empty = top.members.empty();
  const JsonLayout layout = layout_of(text, top, empty ? 0 : top.members.size() - 1);
  const std::size_t at = empty ? top.open + 1 : top.members.back().end;
  std::string added;
  if (!empty) added += layout.newline.empty() ? layout.comma : ",";
  if (!layout.newline.empty()) added += layout.newline + layout.indent;
  added += dumped(std::string(key)) + layout.colon + laid_out(value, layout);
  return std::string(text.substr(0, at)) + added + std::string(text.substr(at));
}

}  // namespace

std::string with_member(std::string_view text, std::string_view key, const std::optional<Json>& value,
                        const std::string& where) {
  const TopLevel top = JsonScan(text, where).top_level();
  const std::size_t i = find_member(text, top, key, where);
  if (i == top.members.size()) return value ? with_added(text, top, key, *value) : std::string(text);
  if (!value) return without(text, top, i);
  const JsonMember& member = top.members[i];
  if (value_at(text, member, where) == *value) return std::string(text);
  return std::string(text.substr(0, member.value)) + laid_out(*value, layout_of(text, top, i)) +
         std::string(text.substr(member.end));
}

std::optional<Json> member_of(std::string_view text, std::string_view key, const std::string& where) {
  const TopLevel top = JsonScan(text, where).top_level();
  const std::size_t i = find_member(text, top, key, where);
  if (i == top.members.size()) return std::nullopt;
  return value_at(text, top.members[i], where);
}

}  // namespace tilewright::hub

#include "hub/tokenizer/regex_syntax.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tilewright::hub {
namespace {

constexpr std::string_view kSpace =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kNotSpace =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";
// The word characters of a class.
constexpr std::string_view kWord =
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}"
    "\\x{1f170}-\\x{1f189}";
// Outside of classes Oniguruma also counts the superscripts and fractions of Latin-1.
const std::string kWordAlone = "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}" + std::string(kWord);

bool compiles(const std::string& pattern) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                       PCRE2_UTF | PCRE2_UCP, &code, &offset, nullptr);
  pcre2_code_free(compiled);
  return compiled != nullptr;
}

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where) : in_(pattern), where_(where) {}

  std::string run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '[') {
        character_class();
      } else if (c == '(') {
        open_group();
      } else if (c == ')') {
        if (!groups_.empty()) {
          atom_ = groups_.back();
          groups_.pop_back();
        }
        out_ += in_[at_++];
      } else if (c == '{') {
        interval();
      } else {
        if (c != '*' && c != '+' && c != '?' && (static_cast<unsigned char>(c) & 0xC0u) != 0x80u) atom_ = out_.size();
        out_ += in_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& construct) const {
    fail({.what = "unsupported construct in a regular expression",
          .where = where_,
          .expected = "what PCRE2 can express",
          .found = fmt::format("{} at byte {} of {}", construct, at_, in_)});
  }
  char next() const { return at_ + 1 < in_.size() ? in_[at_ + 1] : '\0'; }

  // \p{Name} and \P{Name}, the same inside and outside of classes.
  void property() {
    const std::size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      out_ += in_.substr(at_, 2);
      at_ += 2;
      return;
    }
    std::string name(in_.substr(at_ + 3, close - at_ - 3));
    bool negated = next() == 'P';
    if (!name.empty() && name[0] == '^') {
      negated = !negated;
      name.erase(0, 1);
    }
    static constexpr std::pair<std::string_view, std::string_view> kLong[] = {
        {"Letter", "L"}, {"Mark", "M"},      {"Number", "N"}, {"Punctuation", "P"},
        {"Symbol", "S"}, {"Separator", "Z"}, {"Other", "C"}};
    for (const auto& [full, brief] : kLong) {
      if (name == full) name = brief;
    }
    if (name.size() > 2 && compiles(fmt::format("\\p{{sc:{}}}", name))) name = "sc:" + name;
    out_ += fmt::format("\\{}{{{}}}", negated ? 'P' : 'p', name);
    at_ = close + 1;
  }

  // \uHHHH
  bool hex_escape() {
    if (next() != 'u' || at_ + 6 > in_.size()) return false;
    const std::string_view digits = in_.substr(at_ + 2, 4);
    for (const char d : digits) {
      if (!std::isxdigit(static_cast<unsigned char>(d))) return false;
    }
    out_ += fmt::format("\\x{{{}}}", digits);
    at_ += 6;
    return true;
  }

  void escape() {
    atom_ = out_.size();
    if (hex_escape()) return;
    switch (next()) {
      case 's':
        out_ += fmt::format("[{}]", kSpace);
        break;
      case 'S':
        out_ += fmt::format("[^{}]", kSpace);
        break;
      case 'w':
        out_ += fmt::format("[{}]", kWordAlone);
        break;
      case 'W':
        out_ += fmt::format("[^{}]", kWordAlone);
        break;
      case 'h':
        out_ += "[0-9a-fA-F]";
        break;
      case 'H':
        out_ += "[^0-9a-fA-F]";
        break;
      case 'b':
        out_ += fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", kWordAlone);
        break;
      case 'B':
        out_ += fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", kWordAlone);
        break;
      case 'p':
      case 'P':
        property();
        return;
      case '\0':
        out_ += '\\';
        at_ += 1;
        return;
      default:
        out_ += in_.substr(at_, 2);
    }
    at_ += 2;
  }

  void character_class() {
    atom_ = out_.size();
    int depth = 0;
    while (true) {
      if (at_ >= in_.size()) return;  // PCRE2 reports the missing bracket
      const char c = in_[at_];
      if (c == '[') {
        if (next() == ':') refuse("a POSIX bracket");
        if (depth > 0 && next() == '^') refuse("a negated class inside a class");
        if (depth++ == 0) out_ += c;
        ++at_;
        if (depth == 1 && at_ < in_.size() && in_[at_] == '^') out_ += in_[at_++];
        if (at_ < in_.size() && in_[at_] == ']') {
          out_ += "\\]";
          ++at_;
        }
      } else if (c == ']') {
        ++at_;
        if (--depth == 0) {
          out_ += c;
          return;
        }
      } else if (c == '&' && next() == '&') {
        refuse("a class intersection");
      } else if (c == '\\') {
        if (!hex_escape()) class_escape();
      } else {
        out_ += c;
        ++at_;
      }
    }
  }

  void class_escape() {
    switch (next()) {
      case 's':
        out_ += kSpace;
        break;
      case 'S':
        out_ += kNotSpace;
        break;
      case 'w':
        out_ += kWord;
        break;
      case 'W':
        refuse("\\W inside a class");
      case 'h':
        out_ += "0-9a-fA-F";
        break;
      case 'H':
        refuse("\\H inside a class");
      case 'p':
      case 'P':
        property();
        return;
      case '\0':
        out_ += '\\';
        at_ += 1;
        return;
      default:
        out_ += in_.substr(at_, 2);
    }
    at_ += 2;
  }

  // '(' and, for a group of options, its letters with Ruby's m written as s.
  void open_group() {
    groups_.push_back(out_.size());
    std::size_t end = at_ + 2;
    while (end < in_.size() && (in_[end] == 'i' || in_[end] == 'm' || in_[end] == 'x' || in_[end] == '-')) ++end;
    if (next() == '?' && end > at_ + 2 && end < in_.size() && (in_[end] == ':' || in_[end] == ')')) {
      for (const char c : in_.substr(at_, end - at_)) out_ += c == 'm' ? 's' : c;
      at_ = end;
    } else {
      out_ += in_[at_++];
      if (at_ < in_.size() && in_[at_] == '?') out_ += in_[at_++];
    }
  }

  void interval() {
    std::size_t end = at_ + 1;
    bool digits = false;
    while (end < in_.size() && (std::isdigit(static_cast<unsigned char>(in_[end])) || in_[end] == ',')) {
      digits = digits || in_[end] != ',';
      ++end;
    }
    if (!digits || end >= in_.size() || in_[end] != '}') {  // a brace that is a character
      atom_ = out_.size();
      out_ += "\\{";
      ++at_;
      return;
    }
    const std::string_view body = in_.substr(at_ + 1, end - at_ - 1);
    out_ += fmt::format("{{{}{}}}", body[0] == ',' ? "0" : "", body);
    at_ = end + 1;
    if (at_ < in_.size() && in_[at_] == '+' && atom_ <= out_.size()) {
      out_.insert(atom_, "(?:");
      out_ += ')';
    }
  }

  std::string_view in_;
  const std::string& where_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t atom_ = 0;             // where the last atom begins in out_
  std::vector<std::size_t> groups_;  // where open groups begin in out_
};

}  // namespace

std::string pcre_from_oniguruma(std::string_view pattern, const std::string& where) {
  return Translator(pattern, where).run();
}

}  // namespace tilewright::hub

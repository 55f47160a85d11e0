#include "hub/chat/text_layout.h"

#include <fmt/format.h>

#include <charconv>

#include "hub/chat/budget.h"
#include "hub/chat/text.h"

namespace tilewright::hub::jinja {
namespace {

bool is_wrap_space(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_word_punctuation(char32_t c) {
  return is_word(c) || std::u32string_view(U"!\"'&.,?").find(c) != std::u32string_view::npos;
}
bool is_word_letter(char32_t c) { return is_word(c) && !is_decimal(c); }

// Pieces that may start a new line: runs of white space, words, and the parts of hyphenated words.
std::vector<std::u32string> pieces(const std::u32string& text, bool break_on_hyphens) {
  std::vector<std::u32string> out;
  const std::size_t n = text.size();
  const auto at = [&](std::size_t i) { return i < n ? text[i] : U'\0'; };
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i;
    if (is_wrap_space(text[i])) {
      while (end < n && is_wrap_space(text[end])) ++end;
    } else if (!break_on_hyphens) {
      while (end < n && !is_wrap_space(text[end])) ++end;
    } else {
      // An em-dash between words is a piece of its own.
      const auto dash_run = [&](std::size_t from) {
        std::size_t k = from;
        while (at(k) == '-') ++k;
        return k - from;
      };
      if (i > 0 && is_word_punctuation(text[i - 1]) && dash_run(i) >= 2 && is_word(at(i + dash_run(i)))) {
        end = i + dash_run(i);
      } else {
        end = i + 1;
        while (true) {
          // Ends before white space or the end.
          if (end >= n || is_wrap_space(text[end])) break;
          // Ends after the hyphen of a hyphenated word: letter-letter and a letter pair behind.
          const bool letters_before =
              end >= 2 && end - i >= 2 && text[end - 1] == '-' && is_word_letter(text[end - 2]) &&
              ((end >= 3 && end - i >= 3 && is_word_letter(text[end - 3])) ||
               (end >= 4 && end - i >= 4 && text[end - 3] == '-' && is_word_letter(text[end - 4])));
          if (letters_before && is_word_letter(at(end)) &&
              (is_word_letter(at(end + 1)) || (at(end + 1) == '-' && is_word_letter(at(end + 2)))))
            break;
          // Ends before an em-dash.
          if (is_word_punctuation(text[end - 1]) && dash_run(end) >= 2 && is_word(at(end + dash_run(end)))) break;
          ++end;
        }
      }
    }
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

bool is_blank(const std::u32string& text) {
  for (char32_t c : text)
    if (!is_space(c)) return false;
  return true;
}

}  // namespace

std::vector<std::string> wrap_line(std::string_view line, std::int64_t width, bool break_long_words,
                                   bool break_on_hyphens) {
  if (width <= 0) throw Fault{"invalid width " + std::to_string(width) + " (must be > 0)"};
  expect_size(line.size() * 8);
  std::vector<std::u32string> chunks = pieces(decode(line), break_on_hyphens);
  std::vector<std::string> lines;
  std::size_t next = 0;
  const auto limit = static_cast<std::size_t>(width);
  while (next < chunks.size()) {
    spend(1);
    std::vector<std::u32string> current;
    std::size_t used = 0;
    if (!lines.empty() && is_blank(chunks[next])) ++next;
    while (next < chunks.size() && used + chunks[next].size() <= limit) {
      used += chunks[next].size();
      current.push_back(chunks[next++]);
    }
    if (next < chunks.size() && chunks[next].size() > limit) {
      const std::size_t space = limit > used ? limit - used : 0;
      if (break_long_words) {
        std::size_t end = space;
        if (break_on_hyphens && chunks[next].size() > space) {
          const std::size_t hyphen = space ? chunks[next].substr(0, space).rfind(U'-') : std::u32string::npos;
          if (hyphen != std::u32string::npos && hyphen > 0 &&
              chunks[next].substr(0, hyphen).find_first_not_of(U'-') != std::u32string::npos)
            end = hyphen + 1;
        }
        current.push_back(chunks[next].substr(0, end));
        chunks[next] = chunks[next].substr(end);
      } else if (current.empty()) {
        current.push_back(chunks[next++]);
      }
    }
    if (!current.empty() && is_blank(current.back())) current.pop_back();
    if (current.empty()) continue;
    std::u32string joined;
    for (const auto& chunk : current) joined += chunk;
    lines.push_back(encode(joined));
  }
  return lines;
}

std::string without_tags(std::string_view text) {
  std::string kept;
  std::size_t at = 0;
  for (std::size_t open = text.find('<'); open != text.npos; open = text.find('<', at)) {
    const bool comment = text.substr(open).starts_with("<!--");
    const std::size_t close = comment ? text.find("-->", open + 4) : text.find('>', open);
    if (close == text.npos) break;
    kept.append(text, at, open - at);
    at = close + (comment ? 3 : 1);
  }
  kept.append(text.substr(at));
  std::string spaced;
  for (const std::string& word : split_space(kept, -1, false)) spaced += (spaced.empty() ? "" : " ") + word;
  std::string out;
  for (std::size_t i = 0; i < spaced.size(); ++i) {
    const std::size_t end = spaced[i] == '&' ? spaced.find(';', i) : std::string::npos;
    if (end == std::string::npos || end - i > 10) {
      out += spaced[i];
      continue;
    }
    const std::string name = spaced.substr(i + 1, end - i - 1);
    char32_t c = name == "amp"    ? '&'
                 : name == "lt"   ? '<'
                 : name == "gt"   ? '>'
                 : name == "quot" ? '"'
                 : name == "apos" ? '\''
                 : name == "nbsp" ? 0xA0
                                  : 0;
    if (name.size() > 1 && name[0] == '#') {
      const bool hex = name[1] == 'x' || name[1] == 'X';
      std::uint32_t value = 0;
      const char* first = name.data() + (hex ? 2 : 1);
      const auto [stop, code] = std::from_chars(first, name.data() + name.size(), value, hex ? 16 : 10);
      if (code == std::errc() && stop == name.data() + name.size() && value >= 0x20 && value < 0x110000 &&
          (value < 0xD800 || value > 0xDFFF))
        c = value;
    }
    if (!c) {
      out += spaced[i];
      continue;
    }
    append_utf8(out, c);
    i = end;
  }
  return out;
}

std::string url_quoted(std::string_view text, bool for_query) {
  expect_size(text.size() * 3);
  std::string out;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
    if (plain)
      out += c;
    else if (c == ' ' && for_query)
      out += '+';
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace tilewright::hub::jinja

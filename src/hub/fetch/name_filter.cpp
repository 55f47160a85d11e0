#include "hub/fetch/name_filter.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

using Characters = std::u32string;

// A byte that belongs to no UTF-8 character becomes 0xDC00 + byte, as Python's file names have it.
Characters characters_of_name(std::string_view text) {
  Characters out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    const bool good = step.kind == Utf8Kind::character;
    out += good ? code_point_at(text, at).value : static_cast<char32_t>(0xdc00 + static_cast<unsigned char>(text[at]));
    at += good ? static_cast<std::size_t>(step.bytes) : 1;
  }
  return out;
}

// What one place of a pattern takes: any text, or one character of some ranges.
struct PatternPlace {
  bool star = false;
  bool but = false;  // one that is in none of the ranges
  std::vector<std::pair<char32_t, char32_t>> ranges = {};

  bool takes(char32_t c) const {
    for (const auto& [low, high] : ranges)
      if (low <= c && c <= high) return !but;
    return but;
  }
};

PatternPlace one_character(char32_t c) { return {.ranges = {{c, c}}}; }
PatternPlace any_character() { return {.but = true}; }

// The inside of [ ]. Python cuts it at each '-' that stands between two characters, and takes a range whose ends are
// in the wrong order out together with its ends; whether '!' comes first is seen only then.
PatternPlace character_set(const Characters& inside) {
  std::vector<Characters> chunks;
  std::size_t begin = 0, look = inside[0] == U'!' ? 2 : 1;
  for (std::size_t hyphen; (hyphen = inside.find(U'-', look)) != inside.npos; look = hyphen + 3) {
    chunks.push_back(inside.substr(begin, hyphen - begin));
    begin = hyphen + 1;
  }
  if (begin < inside.size() || chunks.empty())
    chunks.push_back(inside.substr(begin));
  else
    chunks.back() += U'-';
  for (std::size_t k = chunks.size() - 1; k > 0; --k) {
    if (chunks[k - 1].back() <= chunks[k].front()) continue;
    chunks[k - 1].pop_back();
    chunks[k - 1] += chunks[k].substr(1);
    chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(k));
  }
  PatternPlace place;
  if (!chunks[0].empty() && chunks[0][0] == U'!') {
    place.but = true;
    chunks[0].erase(0, 1);
    if (chunks[0].empty() && chunks.size() > 1) chunks[0] = U"-", chunks.insert(chunks.begin() + 1, Characters());
  }
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    for (const char32_t c : chunks[k]) place.ranges.emplace_back(c, c);
    if (k > 0 && !chunks[k].empty() && !chunks[k - 1].empty())
      place.ranges.emplace_back(chunks[k - 1].back(), chunks[k].front());
  }
  return place;
}

std::vector<PatternPlace> pattern_places(const Characters& pattern) {
  std::vector<PatternPlace> out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char32_t c = pattern[at];
    if (c == U'*') {
      if (out.empty() || !out.back().star) out.push_back({.star = true});
    } else if (c == U'?') {
      out.push_back(any_character());
    } else if (c == U'[') {
      std::size_t end = at + 1;
      if (end < pattern.size() && pattern[end] == U'!') ++end;
      if (end < pattern.size() && pattern[end] == U']') ++end;
      end = pattern.find(U']', end);
      if (end == pattern.npos) {
        out.push_back(one_character(c));
      } else {
        out.push_back(character_set(pattern.substr(at + 1, end - at - 1)));
        at = end;
      }
    } else {
      out.push_back(one_character(c));
    }
  }
  return out;
}

// After a mismatch only the last star need take more: what an earlier one could give, this one can too.
bool places_match(const Characters& name, const std::vector<PatternPlace>& pattern) {
  std::size_t at = 0, place = 0;
  std::optional<std::size_t> star;
  std::size_t star_end = 0;
  while (at < name.size()) {
    if (place < pattern.size() && pattern[place].star) {
      star = place++;
      star_end = at;
    } else if (place < pattern.size() && pattern[place].takes(name[at])) {
      ++place, ++at;
    } else if (star) {
      place = *star + 1;
      at = ++star_end;
    } else {
      return false;
    }
  }
  while (place < pattern.size() && pattern[place].star) ++place;
  return place == pattern.size();
}

std::vector<std::string> normalised_patterns(std::vector<std::string> patterns) {
  for (std::string& pattern : patterns) {
    std::replace(pattern.begin(), pattern.end(), '\\', '/');
    if (pattern.ends_with('/')) pattern += '*';
  }
  return patterns;
}

}  // namespace

bool matches_pattern(std::string_view name, std::string_view pattern) {
  return places_match(characters_of_name(name), pattern_places(characters_of_name(pattern)));
}

NameFilter::NameFilter(std::vector<std::string> allow, std::vector<std::string> ignore)
    : allow_(normalised_patterns(std::move(allow))), ignore_(normalised_patterns(std::move(ignore))) {}

bool NameFilter::takes(std::string_view name) const {
  const auto matched_by = [&](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches_pattern(name, pattern); });
  };
  return (allow_.empty() || matched_by(allow_)) && !matched_by(ignore_);
}

std::string NameFilter::describe() const {
  std::string text;
  for (const std::string& pattern : allow_) text += (text.empty() ? "--allow-pattern '" : " or '") + pattern + "'";
  for (std::size_t i = 0; i < ignore_.size(); ++i)
    text += (i > 0          ? " or '"
             : text.empty() ? "no --ignore-pattern '"
                            : " and no --ignore-pattern '") +
            ignore_[i] + "'";
  return text;
}

}  // namespace tilewright::hub

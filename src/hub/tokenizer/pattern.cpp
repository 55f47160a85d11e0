#include "hub/tokenizer/pattern.h"

#include <algorithm>

#include "base/error.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

void find_literal(std::string_view text, const std::string& literal, std::vector<Match>& out) {
  std::size_t covered = 0;
  for (std::size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, covered)) {
    if (at > covered) out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(at), false});
    covered = at + literal.size();
    out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(covered), true});
  }
  if (covered < text.size())
    out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(text.size()), false});
}

void find_characters(std::string_view text, bool (*holds)(char32_t), std::vector<Match>& out) {
  std::size_t covered = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (holds(c.value)) {
      if (at > covered) out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(at), false});
      covered = at + c.bytes;
      out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(covered), true});
    }
    at += c.bytes;
  }
  if (covered < text.size())
    out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(text.size()), false});
}

}  // namespace

Pattern Pattern::parse(const JsonNode& node) {
  if (const auto literal = node.find("String")) {
    if (literal->string().empty())
      fail({.what = "empty pattern", .where = literal->where(), .expected = "at least one character"});
    return Pattern(std::string(literal->string()));
  }
  if (const auto regex = node.find("Regex")) return Pattern(Regex(regex->string(), regex->where()));
  node.wrong("an object with \"String\" or \"Regex\"");
}

void Pattern::find_all(std::string_view text, std::vector<Match>& out) const {
  if (const auto* literal = std::get_if<std::string>(&rule_)) {
    find_literal(text, *literal, out);
  } else if (const auto* regex = std::get_if<Regex>(&rule_)) {
    regex->find_all(text, out);
  } else {
    find_characters(text, std::get<2>(rule_), out);
  }
}

SplitBehavior parse_split_behavior(const JsonNode& node) {
  const std::string_view name = node.string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  node.unsupported("split behaviour", std::string(name),
                   "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

void apply_behavior(SplitBehavior behavior, bool invert, std::vector<Match>& matches) {
  if (invert) {
    for (Match& match : matches) match.matched = !match.matched;
  }
  if (behavior == SplitBehavior::isolated) return;
  if (behavior == SplitBehavior::removed) {
    std::erase_if(matches, [](const Match& match) { return match.matched; });
    return;
  }
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) std::reverse(matches.begin(), matches.end());
  bool previous = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const Match match = matches[i];
    const bool join = behavior == SplitBehavior::contiguous ? match.matched == previous : match.matched && !previous;
    if (join && kept > 0) {
      (backwards ? matches[kept - 1].begin : matches[kept - 1].end) = backwards ? match.begin : match.end;
    } else {
      matches[kept++] = match;
    }
    previous = match.matched;
  }
  matches.resize(kept);
  if (backwards) std::reverse(matches.begin(), matches.end());
}

}  // namespace tilewright::hub

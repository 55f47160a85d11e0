// What a Split or Replace looks for, and what becomes of the parts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/regex.h"

namespace tilewright::hub {

// A literal string, a regular expression, or a class of characters.
class Pattern {
 public:
  explicit Pattern(std::string literal) : rule_(std::move(literal)) {}
  explicit Pattern(Regex regex) : rule_(std::move(regex)) {}
  explicit Pattern(bool (*holds)(char32_t)) : rule_(holds) {}
  // {"String": …} or {"Regex": …}; throws Error for anything else and for an empty string.
  static Pattern parse(const JsonNode& node);
  // Appends matches and the parts between, covering `text` from begin to end.
  void find_all(std::string_view text, std::vector<Match>& out) const;

 private:
  std::variant<std::string, Regex, bool (*)(char32_t)> rule_;
};

enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
SplitBehavior parse_split_behavior(const JsonNode& node);

// Turns matches into the parts that remain: `matches` keeps only what is left, empty parts included. `invert` swaps
// matches and the rest before.
void apply_behavior(SplitBehavior behavior, bool invert, std::vector<Match>& matches);

}  // namespace tilewright::hub

// A compiled regular expression with the meaning that Oniguruma gives it; PCRE2 with its JIT compiler does the work.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

// A part of a text, in bytes, and whether the pattern matched it.
struct Match {
  std::uint32_t begin = 0, end = 0;
  bool matched = false;
};

// Immutable and safe to use from several threads.
class Regex {
 public:
  // Throws Error, naming `where`, if the pattern is not understood.
  Regex(std::string_view pattern, const std::string& where);
  // Appends all matches of a valid UTF-8 text in order, and the parts between them. An empty match directly behind
  // another match is skipped, and an empty text has no matches. Throws Error if a match needs more steps than any
  // sensible pattern does.
  void find_all(std::string_view text, std::vector<Match>& out) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tilewright::hub

// Which files of a repository are asked for: patterns with the meaning of Python's fnmatch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

// fnmatch.fnmatchcase: '*' any text ('/' too), '?' one character (a whole UTF-8 one), [seq] and [!seq] with ranges; no
// escapes. Linear in practice: no input makes it take more than |name| · |pattern| steps.
bool matches_pattern(std::string_view name, std::string_view pattern);

class NameFilter {
 public:
  // A pattern that ends in '/' gains a '*'; backslashes in patterns count as '/'. No allow pattern: everything.
  NameFilter(std::vector<std::string> allow, std::vector<std::string> ignore);
  bool takes(std::string_view name) const;  // some allow pattern matches, and no ignore pattern
  std::string describe() const;             // "--allow-pattern '*.json'", for messages

 private:
  std::vector<std::string> allow_, ignore_;
};

}  // namespace tilewright::hub

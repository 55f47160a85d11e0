#include "engine/fuse_list.h"

#include <algorithm>

namespace tilewright::engine {

FuseList parse_fuse_list(const std::string& text) {
  FuseList out;
  std::string composites;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word == "auto")
      out.automatic = true;
    else if (word == "found")
      out.found = true;
    else if (!word.empty())
      composites += (composites.empty() ? "" : ",") + word;
  }
  if (!composites.empty()) out.composites = composites;
  return out;
}

}  // namespace tilewright::engine

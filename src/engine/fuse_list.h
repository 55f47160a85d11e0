// The words of --fuse: names of composites (or none, all), "auto" and "found".
#pragma once

#include <string>

namespace tilewright::engine {

struct FuseList {
  std::string composites = "none";  // the other words, for Switches::parse
  bool automatic = false;           // auto: the rest runs as was measured to be fastest
  bool found = false;               // chains that `tilewright fuse` kept
};

// Separated by commas. Unknown names are for Switches::parse to refuse.
FuseList parse_fuse_list(const std::string& text);

}  // namespace tilewright::engine

#include "base/cache_folder.h"

#include <cstdlib>

namespace tilewright {

std::filesystem::path user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::filesystem::path(cache) / "tilewright";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::filesystem::path(home) / ".cache" / "tilewright";
  return {};
}

}  // namespace tilewright

// Where a user's cached files lie.
#pragma once

#include <filesystem>

namespace tilewright {

// $XDG_CACHE_HOME/tilewright, without the variable ~/.cache/tilewright; empty if there is no home. Values that are no
// absolute paths count as absent, as the XDG base directory specification demands. Made by whoever writes there.
std::filesystem::path user_cache_folder();

}  // namespace tilewright

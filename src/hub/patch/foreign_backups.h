// Model directories that PyPTO-Gym patched: "config.json.pypto_orig" beside config.json holds the publisher's bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hub/patch/directory_change.h"

namespace tilewright::hub {

// Files of the directory (and its folders; links are not followed) that have such a backup, sorted.
std::vector<std::string> files_with_foreign_backups(const std::filesystem::path& directory);

// Renames each such backup to its file's name, config.json last. Returns the files. Throws Error if one cannot be; a
// later call goes on.
std::vector<std::string> restore_foreign_backups(const std::filesystem::path& directory, const StepHook& hook = {});

}  // namespace tilewright::hub

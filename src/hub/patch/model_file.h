// The small files of a model directory, read with the caution that somebody else's directory needs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

// Files that may hold an auto_map: config.json first.
inline constexpr const char* kAutoMapFiles[] = {"config.json", "tokenizer_config.json"};

// Whether a relative path cannot leave the directory (links apart).
bool stays_inside(const std::filesystem::path& name);
// A regular file, links followed. False for what cannot be seen.
bool is_model_file(const std::filesystem::path& path);
// Its text. Throws Error for what is no regular file (a pipe would wait), cannot be read, or is longer than 64 MiB.
std::string read_model_text(const std::filesystem::path& path);

// modules_of, without paths that would leave the directory.
std::vector<std::string> modules_named_by(const Json& auto_map);
// The same of all auto_maps of a directory; files that cannot be read name nothing.
std::vector<std::string> named_modules(const std::filesystem::path& directory);

}  // namespace tilewright::hub

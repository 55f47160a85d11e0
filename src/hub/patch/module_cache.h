// Where transformers keeps the Python modules that it loaded from a model directory, and clearing that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright::hub {

// A name as transformers spells it for a package of modules: "Qwen3-1.7B" → "Qwen3_hyphen_1_dot_7B", and "_" before a
// digit.
std::string python_package_name(const std::string& name);

// The existing folders under modules_cache/transformers_modules that belong to a model directory, found by its exact
// base name, plain and as transformers spells it; for a snapshot of the hub's cache also org/name/commit, which it uses
// when the model is named by its id. `model` absolute. No link is followed on the way, and nothing that holds the model
// counts.
std::vector<std::filesystem::path> module_cache_folders(const std::filesystem::path& modules_cache,
                                                        const std::filesystem::path& model);
// Removes these (of a link, only the link) and returns what went. What cannot be removed is told in `notes`.
std::vector<std::filesystem::path> clear_module_cache(const std::filesystem::path& modules_cache,
                                                      const std::filesystem::path& model,
                                                      std::vector<std::string>& notes);

}  // namespace tilewright::hub

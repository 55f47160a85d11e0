// What users and reports call a model.
#pragma once

#include <filesystem>
#include <string>

namespace tilewright::port {

// "org/name@revision" in its parts; nothing is checked. Without an '@' the revision is empty.
struct ModelId {
  std::string id, revision;
};
ModelId model_id(const std::string& name);

// How a report calls a directory: by its own name, also for "." and "models/x/"; a snapshot in the hub's cache by the
// repository's, without its organisation.
std::string model_name(const std::filesystem::path& directory);

}  // namespace tilewright::port

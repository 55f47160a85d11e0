// How the hub's cache calls its folders: models--org--name/snapshots/COMMIT.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tilewright::hub {

// "models--org--name" for "org/name".
std::string cache_folder_name(const std::string& id);

struct SnapshotPlace {
  std::string id;  // "org/name"
  std::string commit;
};
// What a directory of these names is a snapshot of, by its path alone; nothing if it has other names.
std::optional<SnapshotPlace> snapshot_place(const std::filesystem::path& directory);

}  // namespace tilewright::hub

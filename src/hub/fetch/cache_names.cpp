#include "hub/fetch/cache_names.h"

#include <string_view>

#include "hub/fetch/names.h"

namespace tilewright::hub {
namespace {

constexpr std::string_view kModels = "models--";

}  // namespace

std::string cache_folder_name(const std::string& id) {
  require_repository_id(id);
  std::string name = std::string(kModels) + id;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return name;
}

std::optional<SnapshotPlace> snapshot_place(const std::filesystem::path& directory) {
  const std::filesystem::path snapshots = directory.parent_path();
  const std::string name = snapshots.parent_path().filename().string();
  if (snapshots.filename() != "snapshots" || !name.starts_with(kModels)) return std::nullopt;
  std::string id = name.substr(kModels.size());
  if (const std::size_t at = id.find("--"); at != std::string::npos) id.replace(at, 2, "/");
  if (!is_repository_id(id)) return std::nullopt;
  return SnapshotPlace{std::move(id), directory.filename().string()};
}

}  // namespace tilewright::hub

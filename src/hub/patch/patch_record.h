// .tilewright/patch.json: which files a patch changed or added, and where each original is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

struct PatchedFile {
  std::string path;    // within the model, '/' between parts
  std::string sha256;  // of what the patch wrote
  std::string backup;  // path of the original within the model; empty: there was none, the patch added the file
  bool ours = true;    // we made the backup; false: another tool (PyPTO-Gym) had one, which holds the publisher's bytes
};

struct PatchRecord {
  std::vector<PatchedFile> files;    // sorted by path
  std::vector<std::string> folders;  // that the patch made, the deeper ones first
  std::string overlay_of;            // of an overlay: the model's directory; overlays have no backups
};

// Nothing if the directory was not patched. Throws Error for a damaged record (unsafe paths included).
std::optional<PatchRecord> read_patch_record(const std::filesystem::path& directory);
Json patch_record_json(const PatchRecord& record);
// Files that a patch made or changed, sorted; empty if there are none or the record cannot be read. Who pulls keeps
// these.
std::vector<std::string> patched_files(const std::filesystem::path& directory);

// A backup that PyPTO-Gym left for `path` ("config.json.pypto_orig", "….hf_orig"), if there is one.
std::optional<std::string> foreign_backup(const std::filesystem::path& directory, const std::string& path);

}  // namespace tilewright::hub

// .tilewright/patch.json: which files a patch changed or added, and where each original is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

class ModelFolder;

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

// Nothing if the directory was not patched. Throws Error for a damaged record: a record may come from elsewhere with
// the directory, so that each path must stay inside it and each backup have a name that backups have.
std::optional<PatchRecord> read_patch_record(const std::filesystem::path& directory);
Json patch_record_json(
    const PatchRecord& record);  // {"format": "tilewright-patch-1", "files", "folders", "overlay_of"}
PatchRecord parse_patch_record(std::string_view text, const std::string& where);  // the same errors
// Files that a patch made or changed, sorted; empty if there are none or the record cannot be read. Who pulls keeps
// these.
std::vector<std::string> patched_files(const std::filesystem::path& directory);

// Why a patch must not write under this path of a model, in one phrase; empty if it may: unsafe_name_reason, and what
// lies under .tilewright in any spelling of its letters. (What lies in the way is asked of the directory itself.)
std::string unpatchable_reason(std::string_view path);

// A backup that PyPTO-Gym left for `path` ("config.json.pypto_orig", "….hf_orig"), if there is one: a file or a link.
// Where two tools left one each, the older one: the second backed up what the first had written.
std::optional<std::string> foreign_backup(const std::filesystem::path& directory, const std::string& path);
std::vector<std::string> foreign_backups_of(const ModelFolder& folder, const std::string& path);  // the older one first
// The paths in the whole directory that have one, sorted. Linked folders are not entered.
std::vector<std::string> foreign_backups(const std::filesystem::path& directory);

// The names that our backup of `path` may have, in order: the first that is free is taken. "PATH.orig",
// "PATH.tilewright.orig", "PATH.tilewright.2.orig" …
std::string backup_name(const std::string& path, int attempt);
// Whether `backup` is such a name for `path`, or one of PyPTO-Gym's.
bool is_backup_name(const std::string& path, const std::string& backup);

}  // namespace tilewright::hub

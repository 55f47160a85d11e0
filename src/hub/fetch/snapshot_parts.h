// What both layouts on disk need.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hub/fetch/listing.h"

namespace tilewright::hub {

// Absolute, without "." parts and slashes at the end; ".." stays, since it may follow a link.
std::filesystem::path tidy_path(const std::filesystem::path& path);

// CACHEDIR.TAG, by which backup programs know what can be fetched again. Best effort.
void write_cache_tag(const std::filesystem::path& folder);

// What a file of refs/ says, in lower case; nothing if that is no commit.
std::optional<std::string> read_commit(const std::filesystem::path& file);

// Reads the whole file: whether its size and sum are those of `file`. What cannot be read is not right.
bool has_right_bytes(const std::filesystem::path& path, const RemoteFile& file);

// patched_files() and foreign_backups() of directories, each asked once. Safe from any thread.
class PatchedNames {
 public:
  const std::vector<std::string>& of(const std::filesystem::path& directory) const;
  bool has(const std::filesystem::path& directory, const std::string& path) const;
  // Whether PyPTO-Gym left a backup of the file. A publisher may ship a file of such a name, too: what is the
  // publisher's by its bytes is not patched.
  bool has_foreign_backup(const std::filesystem::path& directory, const std::string& path) const;

 private:
  struct Known {
    std::vector<std::string> patched, foreign;
  };
  const Known& known(const std::filesystem::path& directory) const;

  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, Known> known_;
};

}  // namespace tilewright::hub

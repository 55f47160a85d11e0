// What both layouts on disk need.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "hub/fetch/listing.h"

namespace tilewright::hub {

// CACHEDIR.TAG, by which backup programs know what can be fetched again. Best effort.
void write_cache_tag(const std::filesystem::path& folder);

// Reads the whole file: whether its size and sum are those of `file`. What cannot be read is not right.
bool has_right_bytes(const std::filesystem::path& path, const RemoteFile& file);

// patched_files() of directories, each asked once. Safe from any thread.
class PatchedNames {
 public:
  const std::vector<std::string>& of(const std::filesystem::path& directory) const;
  bool has(const std::filesystem::path& directory, const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::filesystem::path, std::vector<std::string>> known_;
};

}  // namespace tilewright::hub

// A model's directory as patching sees it: paths below it are opened part by part, so that no link on the way leads
// out; each change is announced, then made durable.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::hub {

enum class EntryKind { absent, file, link, folder, other };
struct EntryLook {
  EntryKind kind = EntryKind::absent;
  std::uint64_t device = 0, inode = 0;
  mode_t mode = 0;
  uid_t user = 0;
  gid_t group = 0;
  std::pair<std::int64_t, std::int64_t> modified = {};  // seconds and nanoseconds
  bool same_file(const EntryLook& other) const {
    return kind != EntryKind::absent && other.kind != EntryKind::absent && device == other.device &&
           inode == other.inode;
  }
};

// Paths are relative, of safe parts, '/' between them. Everything throws Error with the system's reason; a link or a
// file in the place of a folder on the way is one.
class ModelFolder {
 public:
  explicit ModelFolder(const std::filesystem::path& directory, std::function<void(const std::string& step)> hook = {});
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;
  const std::filesystem::path& path() const { return directory_; }
  int descriptor() const { return root_; }

  // The entry itself, a link not followed; absent also where a folder on the way is absent.
  EntryLook look(const std::string& path) const;
  EntryLook look_through(const std::string& path) const;  // what a link leads to; absent if nothing
  // "sha256:…" of a file's bytes, "link:…" with a link's text; empty for anything else.
  std::string identity(const std::string& path) const;
  std::string read(const std::string& path) const;  // a file of at most 64 MiB; a link is not followed
  std::vector<std::string> names_in(const std::string& folder) const;
  void require_writable(const std::string& folder) const;  // "" is the directory itself

  void make_folder(const std::string& path);  // one that is there is left
  // Root's new files and folders belong to whom the model belongs (this path, if there is a file, else the directory):
  // else its owner could neither read nor take back what root patched.
  void own_like(const std::string& path, const std::string& model_file);
  void write_new(const std::string& path, std::string_view contents, mode_t mode);
  // Returns the SHA-256 of what was copied; a step for each part of it.
  std::string copy_new(const std::string& path, const std::filesystem::path& source);
  // A second name for what is under `from`; where links cannot be, a copy with mode and time, made under `scratch`
  // first. `to` must be free.
  void keep_as(const std::string& from, const std::string& to, const std::string& scratch);
  void copy_as(const std::string& from, const std::string& to, const std::string& scratch);  // always a copy
  void move_over(const std::string& from, const std::string& to);  // also where both are one file already
  void move_to_free(const std::string& from, const std::string& to);
  void remove(const std::string& path);             // a file or link; one that is gone is fine
  bool remove_if_empty(const std::string& folder);  // whether it is gone

 private:
  void step(const std::string& what) {
    if (hook_) hook_(what);
  }
  std::filesystem::path directory_;
  std::function<void(const std::string& step)> hook_;
  int root_ = -1;
};

}  // namespace tilewright::hub

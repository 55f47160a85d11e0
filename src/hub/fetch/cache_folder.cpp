#include <sys/stat.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "hub/fetch/cache_names.h"
#include "hub/fetch/names.h"
#include "hub/fetch/new_file.h"
#include "hub/fetch/snapshot_folder.h"
#include "hub/fetch/snapshot_parts.h"
#include "hub/patch/patch_record.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHashedAtOnce = std::uint64_t{16} << 20;

// $HF_HUB_CACHE/models--org--name: blobs/ETAG, snapshots/COMMIT/PATH (links), refs/REVISION, trees/COMMIT.json; locks
// lie in $HF_HUB_CACHE/.locks/models--org--name.
class CacheFolder : public SnapshotFolder {
 public:
  CacheFolder(const HubSettings& settings, const std::string& id)
      : links_(settings.links), cache_(tidy_path(settings.cache)) {
    name_ = cache_folder_name(id);
    folder_ = cache_ / name_;
  }

  fs::path path(const std::string& commit) const override { return folder_ / "snapshots" / commit; }
  fs::path tree_file(const std::string& commit) const override { return folder_ / "trees" / (commit + ".json"); }

  std::optional<std::string> known_commit(const std::string& revision) const override {
    if (is_commit(revision)) return revision;
    require_revision(revision);
    return read_commit(folder_ / "refs" / revision);
  }

  void note_revision(const std::string& revision, const std::string& commit) override {
    if (is_commit(revision) || known_commit(revision) == commit) return;
    try {  // a cache that is read only for us serves as well
      make_folders_for(folder_ / "refs", revision);
      replace_file(folder_ / "refs" / revision, commit);
    } catch (const Error&) {
    }
  }

  State state(const RemoteFile& file, const std::string& commit) override {
    const fs::path entry = path(commit) / file.path;
    struct stat info {};
    if (::lstat(entry.c_str(), &info) != 0) return State::missing;
    if (patched_.has(path(commit), file.path)) return State::patched;
    if (patched_.has_foreign_backup(path(commit), file.path) && is_edited(entry, path(commit), file))
      return State::patched;
    if (S_ISLNK(info.st_mode)) {
      std::error_code error;
      const fs::path target = fs::read_symlink(entry, error);
      return !error && target.filename() == file.etag() && has_size(entry, file.size) ? State::present : State::missing;
    }
    if (!S_ISREG(info.st_mode) || static_cast<std::uint64_t>(info.st_size) != file.size) return State::missing;
    // A copy that no link names: nothing else says what it is, and the files that people edit are small.
    return file.size > kHashedAtOnce || has_right_bytes(entry, file) ? State::present : State::missing;
  }

  bool has_content(const RemoteFile& file) const override { return has_size(blob(file), file.size); }

  fs::path lock_file(const RemoteFile& file) override {
    const fs::path lock = cache_ / ".locks" / name_ / (file.etag() + ".lock");
    make_folders_for(lock.parent_path(), "x");
    write_cache_tag(cache_);
    return lock;
  }

  fs::path partial_file(const RemoteFile& file) override {
    make_folders_for(folder_ / "blobs", "x");
    return folder_ / "blobs" / (file.etag() + ".incomplete");
  }

  fs::path content_file(const RemoteFile& file) override {
    make_folders_for(folder_ / "blobs", "x");
    return blob(file);
  }

  void admit(const RemoteFile& file, const std::string& commit) override {
    if (state(file, commit) == State::patched) return;
    const fs::path entry = path(commit) / file.path;
    make_folders_for(path(commit), file.path);
    if (links_) {
      const fs::path target = fs::path("../..") / up_from(file.path) / "blobs" / file.etag();
      std::error_code error;
      if (fs::read_symlink(entry, error) == target && !error) return;
      try {
        return replace_with_link(entry, target);
      } catch (const Error&) {  // a file system without links, unless the copy fails as well
      }
    }
    replace_with_copy(entry, blob(file));
  }

  std::vector<std::string> patched_files(const std::string& commit) const override { return patched_.of(path(commit)); }

 private:
  static fs::path up_from(const std::string& path) {
    fs::path up;
    for (const char c : path)
      if (c == '/') up /= "..";
    return up;
  }
  // Of what a link leads to: newer clients keep blobs of all repositories in one place, and link there.
  static bool has_size(const fs::path& path, std::uint64_t size) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           static_cast<std::uint64_t>(info.st_size) == size;
  }
  // Of a file with a backup by PyPTO-Gym: whether it is what that wrote, perhaps through the link into the blob, and
  // not just a damaged blob.
  static bool is_edited(const fs::path& entry, const fs::path& root, const RemoteFile& file) {
    std::error_code error;
    if (!fs::is_regular_file(entry, error) || has_right_bytes(entry, file)) return false;
    if (!fs::is_symlink(entry, error)) return true;
    const std::optional<std::string> backup = foreign_backup(root, file.path);
    return backup && has_right_bytes(root / *backup, file);
  }
  fs::path blob(const RemoteFile& file) const {
    TW_CHECK(is_hash(file.etag()));
    return folder_ / "blobs" / file.etag();
  }

  bool links_;
  fs::path cache_, folder_;
  std::string name_;
  PatchedNames patched_;
};

}  // namespace

std::unique_ptr<SnapshotFolder> cache_folder(const HubSettings& settings, const std::string& id) {
  return std::make_unique<CacheFolder>(settings, id);
}

}  // namespace tilewright::hub

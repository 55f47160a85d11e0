#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/fetch/cache_names.h"
#include "hub/fetch/names.h"
#include "hub/fetch/new_file.h"
#include "hub/fetch/snapshot_folder.h"
#include "hub/fetch/snapshot_parts.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

std::string base64url(const std::string& hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0, held = 0;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) out += kDigits[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kDigits[bits << (6 - held) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string sha1_of_text(std::string_view text) {
  Digest digest(Digest::Kind::sha1);
  digest.update(text);
  return digest.hex();
}

double seconds_of(const struct timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A user's directory with files as they are; .cache/huggingface/download/PATH.metadata says of each one what it was at
// which time: commit, etag, seconds since 1970, a line each.
class PlainFolder : public SnapshotFolder {
 public:
  PlainFolder(const fs::path& directory, const std::string& id, bool may_write, const fs::path& cache)
      : root_(tidy_path(directory)), cache_(id.empty() ? fs::path() : cache), may_write_(may_write) {
    if (!id.empty()) refs_ = cache_folder_name(id);
    // Of folders that are not there yet, the nearest one above must be one.
    fs::path there = root_;
    std::error_code error;
    while (!fs::exists(fs::symlink_status(there, error)) && there.has_relative_path()) there = there.parent_path();
    if (!fs::is_directory(there, error))
      fail({.what = "files cannot be kept here",
            .where = root_.string(),
            .expected = "a folder, or one that can be made",
            .found = there == root_ ? "something else" : there.string() + ", which is no folder",
            .fix = "name another --output-dir"});
  }

  fs::path path(const std::string&) const override { return root_; }

  fs::path tree_file(const std::string& commit) const override {
    const fs::path relative = kKept / "trees" / (commit + ".json");
    if (const fs::path linked = linked_folder(root_, relative); !linked.empty()) refuse_link(linked);
    return root_ / relative;
  }

  std::optional<std::string> known_commit(const std::string& revision) const override {
    if (is_commit(revision)) return revision;
    require_revision(revision);
    if (const auto noted = read_commit(root_ / kKept / "refs" / refs_ / revision)) return noted;
    // Python notes the revisions of directories in its cache, and what the commit has in the directory.
    std::error_code error;
    if (cache_.empty()) return std::nullopt;
    const auto noted = read_commit(cache_ / refs_ / "refs" / revision);
    return noted && fs::exists(root_ / kKept / "trees" / (*noted + ".json"), error) ? noted : std::nullopt;
  }

  void note_revision(const std::string& revision, const std::string& commit) override {
    if (!may_write_ || is_commit(revision) || known_commit(revision) == commit) return;
    try {
      const fs::path relative = kKept / "refs" / refs_ / revision;
      make_folders_for(root_, relative);
      replace_file(root_ / relative, commit);
    } catch (const Error&) {
    }
  }

  State state(const RemoteFile& file, const std::string& commit) override {
    const fs::path here = root_ / file.path;
    std::error_code error;
    if (!linked_folder(root_, file.path).empty()) return State::missing;  // will be refused
    require_place(file.path);
    if (patched_.has(root_, file.path) && fs::exists(here, error)) return State::patched;
    struct stat info {};
    if (::stat(here.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return State::missing;
    if (patched_.has_foreign_backup(root_, file.path) && !has_right_bytes(here, file))
      return is_as_recorded(here, file.path, info) ? State::missing : State::patched;
    if (static_cast<std::uint64_t>(info.st_size) != file.size) return State::missing;
    if (const std::optional<Metadata> known = metadata(file.path);
        known && seconds_of(info.st_mtim) - 1 <= known->time) {
      if (known->etag != file.etag()) return State::missing;
      if (known->commit != commit) record(file, commit);
      return State::present;
    }
    if (!has_right_bytes(here, file)) return State::missing;
    record(file, commit);
    return State::present;
  }

  bool has_content(const RemoteFile& file) const override {
    struct stat info {};
    if (!linked_folder(root_, file.path).empty() || ::stat((root_ / file.path).c_str(), &info) != 0) return false;
    const std::optional<Metadata> known = metadata(file.path);
    return S_ISREG(info.st_mode) && static_cast<std::uint64_t>(info.st_size) == file.size && known &&
           known->etag == file.etag() && seconds_of(info.st_mtim) - 1 <= known->time;
  }

  fs::path lock_file(const RemoteFile& file) override {
    prepare();
    prepared(file.path);  // what lies in the way is found before a body is fetched
    return prepared(beside(file.path, file.path.substr(file.path.rfind('/') + 1) + ".lock"));
  }

  fs::path partial_file(const RemoteFile& file) override {
    prepare();
    const std::string name = file.path.substr(file.path.rfind('/') + 1) + ".metadata";
    return prepared(beside(file.path, base64url(sha1_of_text(name)) + "." + file.etag() + ".incomplete"));
  }

  fs::path content_file(const RemoteFile& file) override { return prepared(file.path); }

  void admit(const RemoteFile& file, const std::string& commit) override { record(file, commit); }

  std::vector<std::string> patched_files(const std::string&) const override { return patched_.of(root_); }

 private:
  struct Metadata {
    std::string commit, etag;
    double time = 0;
  };
  inline static const fs::path kKept = fs::path(".cache") / "huggingface";

  [[noreturn]] static void refuse_link(const fs::path& folder) {
    fail({.what = "a folder is needed here",
          .where = folder.string(),
          .expected = "a folder",
          .found = "a link",
          .fix = "move it away, or name another --output-dir"});
  }

  // Throws if a folder lies where the file is to be, or a file where one of its folders is to be.
  void require_place(const std::string& path) const {
    const auto refuse = [&](const fs::path& where, const char* expected, const char* found) {
      fail({.what = fmt::format("there is no place for the repository's file {}", path),
            .where = where.string(),
            .expected = expected,
            .found = found,
            .fix = "move it away, or name another --output-dir"});
    };
    struct stat info {};
    if (::lstat((root_ / path).c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) refuse(root_ / path, "a file", "a folder");
    } else if (errno == ENOTDIR) {
      fs::path above = root_ / path;
      while (above != root_ && ::lstat(above.c_str(), &info) != 0) above = above.parent_path();
      refuse(above, "a folder", "a file");
    }
  }

  // In the folder that mirrors the file's own. A name with its ending may be too long where the file's is not.
  static fs::path beside(const std::string& path, std::string name) {
    if (name.size() > 255) name = sha1_of_text(name) + name.substr(name.rfind('.'));
    return kKept / "download" / fs::path(path).parent_path() / name;
  }
  static fs::path metadata_file(const std::string& path) {
    return beside(path, path.substr(path.rfind('/') + 1) + ".metadata");
  }
  fs::path prepared(const fs::path& relative) const {
    make_folders_for(root_, relative);
    return root_ / relative;
  }

  void prepare() const {
    const fs::path ignore = prepared(kKept / ".gitignore");
    write_cache_tag(ignore.parent_path());
    std::error_code error;
    if (fs::exists(fs::symlink_status(ignore, error))) return;
    try {
      replace_file(ignore, "*");
    } catch (const Error&) {
    }
  }

  std::optional<Metadata> metadata(const std::string& path) const {
    const fs::path file = metadata_file(path);
    if (!linked_folder(root_, file).empty()) return std::nullopt;
    try {
      const std::string text = read_text_file(root_ / file, 4096);
      Metadata known;
      std::size_t at = 0;
      const auto line = [&] {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string taken = text.substr(std::min(at, end), end - std::min(at, end));
        at = end + 1;
        while (!taken.empty() && (taken.back() == '\r' || taken.back() == ' ')) taken.pop_back();
        return taken;
      };
      known.commit = line();
      known.etag = line();
      const std::string time = line();
      const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), known.time);
      if (error != std::errc() || end != time.data() + time.size() || !is_hash(known.etag)) return std::nullopt;
      return known;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // Whether the file still has the bytes of the revision that it was fetched from.
  bool is_as_recorded(const fs::path& here, const std::string& path, const struct stat& info) const {
    const std::optional<Metadata> known = metadata(path);
    if (!known) return false;
    RemoteFile then{.path = path, .size = static_cast<std::uint64_t>(info.st_size), .blob_id = known->etag};
    if (known->etag.size() == 64) then.sha256 = known->etag;
    return has_right_bytes(here, then);
  }

  // Best effort: without it the file is hashed the next time.
  void record(const RemoteFile& file, const std::string& commit) const {
    if (!may_write_) return;
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    try {
      prepare();
      replace_file(prepared(metadata_file(file.path)), fmt::format("{}\n{}\n{:.6f}\n", commit, file.etag(), now));
    } catch (const Error&) {
    }
  }

  fs::path root_, cache_;
  bool may_write_;
  std::string refs_;
  PatchedNames patched_;
};

}  // namespace

std::unique_ptr<SnapshotFolder> plain_folder(const fs::path& directory, const std::string& id, bool may_write,
                                             const fs::path& cache) {
  return std::make_unique<PlainFolder>(directory, id, may_write, cache);
}

}  // namespace tilewright::hub

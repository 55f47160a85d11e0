#include "hub/patch/model_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/error.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kLongestRead = std::size_t{64} << 20;

class ModelHandle {
 public:
  explicit ModelHandle(int fd = -1) : fd_(fd) {}
  ~ModelHandle() {
    if (fd_ >= 0) ::close(fd_);
  }
  ModelHandle(ModelHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ModelHandle& operator=(ModelHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void model_error(const std::string& what, const std::filesystem::path& where, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  fail({.what = what,
        .where = where.string(),
        .expected = "",
        .found = std::strerror(error),
        .fix = full     ? "free disk space"
               : denied ? "check the permissions of the model's folders, or make an overlay with --output-dir"
                        : "check the path"});
}

// The folder that holds an entry, and the entry's name in it.
struct EntryPlace {
  ModelHandle folder;
  std::string name;
};

// Folders are opened one by one, so that no link leads out. An absent one gives a handle of -1.
EntryPlace place_of(int root, const std::filesystem::path& directory, const std::string& path) {
  EntryPlace place{ModelHandle(::dup(root)), path};
  if (place.folder.fd() < 0) model_error("cannot open the folder", directory, errno);
  std::size_t begin = 0;
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       begin = slash + 1, slash = path.find('/', begin)) {
    const std::string part = path.substr(begin, slash - begin);
    ModelHandle next(::openat(place.folder.fd(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.fd() < 0) {
      const int error = errno;
      if (error == ENOENT) return {ModelHandle(), ""};
      struct stat info {};
      if (::fstatat(place.folder.fd(), part.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(info.st_mode))
        fail({.what = S_ISLNK(info.st_mode) ? "a linked folder is on the way" : "a file is in the place of a folder",
              .where = (directory / path.substr(0, slash)).string(),
              .expected = "a real folder",
              .found = S_ISLNK(info.st_mode) ? "a link" : "a file",
              .fix = "choose another path: files are only written inside the model"});
      model_error("cannot open the folder", directory / path.substr(0, slash), error);
    }
    place.folder = std::move(next);
  }
  place.name = path.substr(begin);
  return place;
}

void flush_folder(int fd, const std::filesystem::path& where) {
  if (::fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS)
    model_error("cannot flush the folder to disk", where, errno);
}

std::string link_text(int folder, const std::string& name, const std::filesystem::path& where) {
  std::string text(4096, '\0');
  for (;;) {
    const ssize_t n = ::readlinkat(folder, name.c_str(), text.data(), text.size());
    if (n < 0) model_error("cannot read the link", where, errno);
    if (static_cast<std::size_t>(n) < text.size()) {
      text.resize(static_cast<std::size_t>(n));
      return text;
    }
    text.resize(text.size() * 2);
  }
}

ModelHandle open_entry(int folder, const std::string& name, const std::filesystem::path& where) {
  ModelHandle file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.fd() < 0)
    fail({.what = "cannot read the file",
          .where = where.string(),
          .expected = "a file of the model",
          .found = errno == ELOOP ? "a link" : std::strerror(errno),
          .fix = "check the file and its permissions"});
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0 || !S_ISREG(info.st_mode))
    fail({.what = "not a regular file",
          .where = where.string(),
          .expected = "a file",
          .found = "something else",
          .fix = "check the path"});
  return file;
}

// Calls `take` with each part of the file.
void read_parts(int fd, const std::filesystem::path& where, const std::function<void(std::string_view)>& take) {
  std::vector<char> buffer(std::size_t{1} << 18);
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) model_error("cannot read the file", where, errno);
    if (n == 0) return;
    take({buffer.data(), static_cast<std::size_t>(n)});
  }
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& where) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) model_error("cannot write the file", where, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void finish_file(int fd, mode_t mode, const std::filesystem::path& where) {
  if (::fchmod(fd, mode & 07777) != 0) model_error("cannot set the file's mode", where, errno);
  if (::fsync(fd) != 0) model_error("cannot flush the file to disk", where, errno);
}

EntryLook look_from(const struct stat& info) {
  EntryLook look;
  look.kind = S_ISREG(info.st_mode)   ? EntryKind::file
              : S_ISLNK(info.st_mode) ? EntryKind::link
              : S_ISDIR(info.st_mode) ? EntryKind::folder
                                      : EntryKind::other;
  look.device = info.st_dev;
  look.inode = info.st_ino;
  look.mode = info.st_mode & 07777;
  look.user = info.st_uid;
  look.group = info.st_gid;
  look.modified = {info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  return look;
}

EntryLook look_at(int root, const std::filesystem::path& directory, const std::string& path, int flags) {
  const EntryPlace place = place_of(root, directory, path);
  if (place.folder.fd() < 0) return {};
  struct stat info {};
  if (::fstatat(place.folder.fd(), place.name.c_str(), &info, flags) == 0) return look_from(info);
  // A link that leads nowhere, or round in a circle, is as good as absent for who follows it.
  if (errno == ENOENT || errno == ENOTDIR || (errno == ELOOP && flags == 0)) return {};
  model_error("cannot look at the file", directory / path, errno);
}

EntryPlace place_in(int root, const std::filesystem::path& directory, const std::string& path) {
  EntryPlace place = place_of(root, directory, path);
  if (place.folder.fd() < 0) model_error("the folder is gone", directory / path, ENOENT);
  return place;
}

}  // namespace

ModelFolder::ModelFolder(const std::filesystem::path& directory, std::function<void(const std::string& step)> hook)
    : directory_(directory), hook_(std::move(hook)) {
  root_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_ < 0) model_error("cannot open the model's directory", directory, errno);
}

ModelFolder::~ModelFolder() {
  if (root_ >= 0) ::close(root_);
}

EntryLook ModelFolder::look(const std::string& path) const {
  return look_at(root_, directory_, path, AT_SYMLINK_NOFOLLOW);
}

EntryLook ModelFolder::look_through(const std::string& path) const { return look_at(root_, directory_, path, 0); }

std::string ModelFolder::identity(const std::string& path) const {
  const EntryLook entry = look(path);
  if (entry.kind != EntryKind::file && entry.kind != EntryKind::link) return "";
  const EntryPlace place = place_in(root_, directory_, path);
  if (entry.kind == EntryKind::link) return "link:" + link_text(place.folder.fd(), place.name, directory_ / path);
  const ModelHandle file = open_entry(place.folder.fd(), place.name, directory_ / path);
  Digest digest(Digest::Kind::sha256);
  read_parts(file.fd(), directory_ / path, [&](std::string_view part) { digest.update(part); });
  return "sha256:" + digest.hex();
}

std::string ModelFolder::read(const std::string& path) const {
  const EntryPlace place = place_in(root_, directory_, path);
  const ModelHandle file = open_entry(place.folder.fd(), place.name, directory_ / path);
  std::string text;
  read_parts(file.fd(), directory_ / path, [&](std::string_view part) {
    if (text.size() + part.size() > kLongestRead)
      fail({.what = "file is too long",
            .where = (directory_ / path).string(),
            .expected = "at most 64 MiB",
            .found = "more",
            .fix = "check that this is the right file"});
    text += part;
  });
  return text;
}

std::vector<std::string> ModelFolder::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  const EntryPlace place = place_of(root_, directory_, folder + "/.");
  if (place.folder.fd() < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(::dup(place.folder.fd())), &::closedir);
  if (!list) model_error("cannot list the folder", directory_ / folder, errno);
  while (const dirent* entry = ::readdir(list.get()))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

void ModelFolder::require_writable(const std::string& folder) const {
  const EntryPlace place = place_of(root_, directory_, folder.empty() ? "." : folder + "/.");
  if (place.folder.fd() < 0) return;
  if (::faccessat(place.folder.fd(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    model_error("cannot write in the folder", directory_ / folder, errno);
}

void ModelFolder::make_folder(const std::string& path) {
  if (look(path).kind == EntryKind::folder) return;
  step("make folder " + path);
  const EntryPlace place = place_in(root_, directory_, path);
  if (::mkdirat(place.folder.fd(), place.name.c_str(), 0777) != 0)
    model_error("cannot make the folder", directory_ / path, errno);
  flush_folder(place.folder.fd(), directory_ / path);
}

void ModelFolder::own_like(const std::string& path, const std::string& model_file) {
  if (::geteuid() != 0) return;
  EntryLook model = look_through(model_file);
  if (model.kind != EntryKind::file) model = look_through(".");
  const EntryLook now = look(path);
  if (now.user == model.user && now.group == model.group) return;
  const EntryPlace place = place_in(root_, directory_, path);
  if (::fchownat(place.folder.fd(), place.name.c_str(), model.user, model.group, AT_SYMLINK_NOFOLLOW) != 0 &&
      errno != EPERM && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)  // a file system without owners
    model_error("cannot give the file to the model's owner", directory_ / path, errno);
}

void ModelFolder::write_new(const std::string& path, std::string_view contents, mode_t mode) {
  step("create " + path);
  const EntryPlace place = place_in(root_, directory_, path);
  const ModelHandle file(
      ::openat(place.folder.fd(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd() < 0) model_error("cannot write the file", directory_ / path, errno);
  step("write " + path);
  write_all(file.fd(), contents, directory_ / path);
  finish_file(file.fd(), mode, directory_ / path);
  flush_folder(place.folder.fd(), directory_ / path);
}

std::string ModelFolder::copy_new(const std::string& path, const std::filesystem::path& source) {
  const ModelHandle from(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (from.fd() < 0 || ::fstat(from.fd(), &info) != 0) model_error("cannot read the file to copy", source, errno);
  if (!S_ISREG(info.st_mode))
    fail({.what = "cannot copy it",
          .where = source.string(),
          .expected = "a file",
          .found = S_ISDIR(info.st_mode) ? "a folder" : "something else",
          .fix = "name a file"});
  step("create " + path);
  const EntryPlace place = place_in(root_, directory_, path);
  const ModelHandle file(
      ::openat(place.folder.fd(), place.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.fd() < 0) model_error("cannot write the file", directory_ / path, errno);
  Digest digest(Digest::Kind::sha256);
  read_parts(from.fd(), source, [&](std::string_view part) {
    step("write " + path);
    digest.update(part);
    write_all(file.fd(), part, directory_ / path);
  });
  finish_file(file.fd(), info.st_mode & 0777, directory_ / path);
  flush_folder(place.folder.fd(), directory_ / path);
  return digest.hex();
}

void ModelFolder::keep_as(const std::string& from, const std::string& to, const std::string& scratch) {
  const EntryPlace source = place_in(root_, directory_, from), target = place_in(root_, directory_, to);
  step("keep " + from + " as " + to);
  if (::linkat(source.folder.fd(), source.name.c_str(), target.folder.fd(), target.name.c_str(), 0) == 0)
    return flush_folder(target.folder.fd(), directory_ / to);
  if (errno == EEXIST || errno == ENOSPC || errno == EDQUOT || errno == EROFS)
    model_error("cannot keep the original", directory_ / to, errno);
  copy_as(from, to, scratch);  // no hard links here (FAT, some network file systems), or not of another user's file
}

void ModelFolder::copy_as(const std::string& from, const std::string& to, const std::string& scratch) {
  const EntryPlace source = place_in(root_, directory_, from), target = place_in(root_, directory_, to);
  const EntryLook entry = look(from);
  if (entry.kind == EntryKind::link) {
    const std::string text = link_text(source.folder.fd(), source.name, directory_ / from);
    step("link " + to);
    if (::symlinkat(text.c_str(), target.folder.fd(), target.name.c_str()) != 0)
      model_error("cannot keep the original", directory_ / to, errno);
    struct stat info {};
    if (::fstatat(source.folder.fd(), source.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      const timespec times[] = {info.st_atim, info.st_mtim};
      ::utimensat(target.folder.fd(), target.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
    return flush_folder(target.folder.fd(), directory_ / to);
  }
  remove(scratch);
  const EntryPlace beside = place_in(root_, directory_, scratch);
  {
    const ModelHandle original = open_entry(source.folder.fd(), source.name, directory_ / from);
    const ModelHandle copy(
        ::openat(beside.folder.fd(), beside.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (copy.fd() < 0) model_error("cannot keep the original", directory_ / scratch, errno);
    read_parts(original.fd(), directory_ / from,
               [&](std::string_view part) { write_all(copy.fd(), part, directory_ / to); });
    struct stat info {};
    if (::fstat(original.fd(), &info) != 0) model_error("cannot look at the file", directory_ / from, errno);
    const timespec times[] = {info.st_atim, info.st_mtim};
    if (::fchown(copy.fd(), info.st_uid, info.st_gid) != 0 && errno != EPERM && errno != EINVAL)
      model_error("cannot keep the original's owner", directory_ / scratch, errno);
    if (::futimens(copy.fd(), times) != 0) model_error("cannot keep the original's time", directory_ / scratch, errno);
    finish_file(copy.fd(), info.st_mode, directory_ / scratch);
  }
  move_to_free(scratch, to);
}

void ModelFolder::move_over(const std::string& from, const std::string& to) {
  const EntryPlace source = place_in(root_, directory_, from), target = place_in(root_, directory_, to);
  step("move " + from + " to " + to);
  // Renaming one name of a file to another one of the same file does nothing at all.
  if (look(from).same_file(look(to))) {
    if (::unlinkat(source.folder.fd(), source.name.c_str(), 0) != 0)
      model_error("cannot remove the file", directory_ / from, errno);
  } else if (::renameat(source.folder.fd(), source.name.c_str(), target.folder.fd(), target.name.c_str()) != 0) {
    model_error("cannot put the file in place", directory_ / to, errno);
  }
  flush_folder(target.folder.fd(), directory_ / to);
  flush_folder(source.folder.fd(), directory_ / from);
}

void ModelFolder::move_to_free(const std::string& from, const std::string& to) {
  if (look(to).kind != EntryKind::absent) model_error("the name is taken", directory_ / to, EEXIST);
  move_over(from, to);
}

void ModelFolder::remove(const std::string& path) {
  if (look(path).kind == EntryKind::absent) return;
  const EntryPlace place = place_in(root_, directory_, path);
  step("remove " + path);
  if (::unlinkat(place.folder.fd(), place.name.c_str(), 0) != 0 && errno != ENOENT)
    model_error("cannot remove the file", directory_ / path, errno);
  flush_folder(place.folder.fd(), directory_ / path);
}

bool ModelFolder::remove_if_empty(const std::string& folder) {
  if (look(folder).kind != EntryKind::folder) return look(folder).kind == EntryKind::absent;
  const EntryPlace place = place_in(root_, directory_, folder);
  step("remove folder " + folder);
  if (::unlinkat(place.folder.fd(), place.name.c_str(), AT_REMOVEDIR) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) return false;
    if (errno != ENOENT) model_error("cannot remove the folder", directory_ / folder, errno);
  }
  flush_folder(place.folder.fd(), directory_ / folder);
  return true;
}

}  // namespace tilewright::hub

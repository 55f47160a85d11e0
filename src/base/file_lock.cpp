#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace tilewright {
namespace {

int open_lock_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  // A lock file is nobody's link: through one, a file would be made somewhere else. O_NONBLOCK: a pipe would block.
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | kFlags, 0666);
  if (file < 0 && (errno == EACCES || errno == EROFS)) {  // of another user: reading is enough to lock it
    const int error = errno;
    file = ::open(path.c_str(), O_RDONLY | kFlags);
    if (file < 0) errno = error;
  }
  if (file < 0)
    fail({.what = "cannot make the lock file",
          .where = path.string(),
          .expected = "",
          .found = errno == ELOOP ? "a link" : std::strerror(errno),
          .fix = errno == ELOOP ? "remove it" : "check that the folder is writable"});
  return file;
}

// Other programs remove lock files; a lock on one that has no name any more excludes nobody.
bool still_named(int file, const std::filesystem::path& path) {
  struct stat held {
  }, named{};
  return ::fstat(file, &held) == 0 && ::lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);  // gives the lock up
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  for (int tries = 0; tries < 100; ++tries) {
    FileLock lock;
    lock.file_ = open_lock_file(path);
    int done = 0;
    while ((done = ::flock(lock.file_, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) continue;
    if (done != 0 && errno == EWOULDBLOCK) return std::nullopt;
    if (done != 0 || still_named(lock.file_, path)) return lock;  // an error: no locks here
  }
  return std::nullopt;
}

FileLock FileLock::lock(const std::filesystem::path& path, const std::function<void()>& waiting) {
  for (;;) {
    if (std::optional<FileLock> lock = try_lock(path)) return std::move(*lock);
    if (waiting) waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace tilewright

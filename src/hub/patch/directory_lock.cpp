#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "hub/patch/directory_change.h"

namespace tilewright::hub {
namespace {

using DirectoryId = std::pair<dev_t, ino_t>;
thread_local std::vector<DirectoryId> held_directories;

DirectoryId directory_id(int fd) {
  struct stat info {};
  ::fstat(fd, &info);
  return {info.st_dev, info.st_ino};
}

}  // namespace

// A second flock of the same thread, through another descriptor, would wait for the first one for ever.
DirectoryLock::DirectoryLock(const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    fail({.what = "cannot open the model's directory",
          .where = directory.string(),
          .expected = "a directory",
          .found = std::strerror(errno),
          .fix = "check the path"});
  const DirectoryId id = directory_id(fd);
  if (std::find(held_directories.begin(), held_directories.end(), id) != held_directories.end()) {
    ::close(fd);
    return;
  }
  for (int tries = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    if (tries >= 600) {
      ::close(fd);
      fail({.what = "another command is changing this model",
            .where = directory.string(),
            .expected = "one patch or unpatch at a time",
            .found = "its lock has been held for half a minute",
            .fix = "wait for the other command"});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  fd_ = fd;
  held_directories.push_back(id);
}

DirectoryLock::~DirectoryLock() {
  if (fd_ < 0) return;
  const auto held = std::find(held_directories.begin(), held_directories.end(), directory_id(fd_));
  if (held != held_directories.end()) held_directories.erase(held);
  ::close(fd_);
}

}  // namespace tilewright::hub

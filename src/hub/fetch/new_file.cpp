#include "hub/fetch/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tilewright::hub {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path, int error) {
  fail({.what = "cannot write the file",
        .where = path.string(),
        .expected = "",
        .found = std::strerror(error),
        .fix = error == ENOSPC || error == EDQUOT ? "free disk space" : "check that the folder is writable"});
}

struct OpenFile {
  int fd = -1;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

void write_all(int file, const char* data, std::size_t size, const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t n = ::write(file, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) cannot_write(path, n < 0 ? errno : EIO);
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

// `make` makes what is to stand there under the name it is given.
void replace_by(const std::filesystem::path& path, const std::function<void(const std::filesystem::path&)>& make) {
  struct Temporary {
    std::filesystem::path path;
    ~Temporary() { ::unlink(path.c_str()); }
  } const temporary{unique_name_beside(path)};
  make(temporary.path);
  if (::rename(temporary.path.c_str(), path.c_str()) != 0) cannot_write(path, errno);
}

OpenFile new_file(const std::filesystem::path& path) {
  OpenFile file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)};
  if (file.fd < 0) cannot_write(path, errno);
  return OpenFile{std::exchange(file.fd, -1)};
}

}  // namespace

std::filesystem::path unique_name_beside(const std::filesystem::path& path) {
  static thread_local std::random_device random;
  std::string suffix = ".";
  for (int i = 0; i < 16; ++i) suffix += "0123456789abcdef"[random() & 15];
  // Only the beginning of a long name: with the suffix it might be none.
  return path.parent_path() / (path.filename().string().substr(0, 200) + suffix + ".tmp");
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  replace_by(path, [&](const std::filesystem::path& temporary) {
    const OpenFile file = new_file(temporary);
    write_all(file.fd, text.data(), text.size(), path);
    if (::fsync(file.fd) != 0) cannot_write(path, errno);
  });
}

void replace_with_copy(const std::filesystem::path& path, const std::filesystem::path& from) {
  replace_by(path, [&](const std::filesystem::path& temporary) {
    const OpenFile in{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
    if (in.fd < 0)
      fail({.what = "cannot read the file",
            .where = from.string(),
            .expected = "",
            .found = std::strerror(errno),
            .fix = "check its permissions"});
    const OpenFile out = new_file(temporary);
    std::vector<char> buffer(std::size_t{1} << 20);
    for (;;) {
      const ssize_t n = ::read(in.fd, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        fail({.what = "cannot read the file",
              .where = from.string(),
              .expected = "",
              .found = std::strerror(errno),
              .fix = "check the disk"});
      if (n == 0) break;
      write_all(out.fd, buffer.data(), static_cast<std::size_t>(n), path);
    }
    if (::fsync(out.fd) != 0) cannot_write(path, errno);
  });
}

void replace_with_link(const std::filesystem::path& path, const std::filesystem::path& target) {
  replace_by(path, [&](const std::filesystem::path& temporary) {
    if (::symlink(target.c_str(), temporary.c_str()) != 0) cannot_write(path, errno);
  });
}

std::filesystem::path linked_folder(const std::filesystem::path& root, const std::filesystem::path& relative) {
  std::filesystem::path folder = root;
  for (const std::filesystem::path& part : relative.parent_path()) {
    folder /= part;
    std::error_code ignored;
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder, ignored))) return folder;
  }
  return {};
}

void make_folders_for(const std::filesystem::path& root, const std::filesystem::path& relative) {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error == std::errc::not_a_directory || error == std::errc::file_exists)
    fail({.what = "the folder cannot be made",
          .where = root.string(),
          .expected = "folders all the way",
          .found = "a file in the place of one of them",
          .fix = "move the file away, or name another folder (HF_HUB_CACHE, HF_HOME or --output-dir)"});
  if (error) cannot_write(root, error.value());
  std::filesystem::path folder = root;
  for (const std::filesystem::path& part : relative.parent_path()) {
    folder /= part;
    struct stat info {};
    if (::mkdir(folder.c_str(), 0777) == 0) continue;
    if (const int failed = errno; ::lstat(folder.c_str(), &info) != 0) cannot_write(folder, failed);
    if (!S_ISDIR(info.st_mode))
      fail({.what = "a folder is needed here",
            .where = folder.string(),
            .expected = "a folder",
            .found = S_ISLNK(info.st_mode) ? "a link: files written through it would leave " + root.string() : "a file",
            .fix = "move it away"});
  }
}

}  // namespace tilewright::hub

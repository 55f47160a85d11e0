#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace tilewright {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void cannot_open(const std::filesystem::path& path) {
  const int error = errno;
  fail({.what = "cannot open the file",
        .where = path.empty() ? "\"\"" : path.string(),
        .expected = "",
        .found = std::strerror(error),
        .fix = error == EACCES || error == EPERM ? "check its permissions" : "check the path"});
}

// Without O_NONBLOCK, opening a pipe waits for a writer, perhaps for ever. Reading does wait, for one that is there.
Descriptor open_to_read(const std::filesystem::path& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) cannot_open(path);
  ::fcntl(file.fd, F_SETFL, ::fcntl(file.fd, F_GETFL) & ~O_NONBLOCK);
  return Descriptor{std::exchange(file.fd, -1)};
}

Descriptor open_regular(const std::filesystem::path& path, std::size_t& size) {
  Descriptor file = open_to_read(path);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode))
    fail({.what = "not a regular file",
          .where = path.string(),
          .expected = "a file",
          .found = S_ISDIR(info.st_mode) ? "a folder" : "something else",
          .fix = "check the path"});
  size = static_cast<std::size_t>(info.st_size);
  return Descriptor{std::exchange(file.fd, -1)};
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  Descriptor file = open_regular(path, size_);
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED)
    fail({.what = "cannot map the file",
          .where = path.string(),
          .expected = "",
          .found = std::strerror(errno),
          .fix = "free memory or address space"});
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::drop(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const Descriptor file = open_to_read(path);  // a pipe is welcome too
  std::string text;
  std::size_t done = 0;
  for (;;) {
    text.resize(done + std::max<std::size_t>(65536, done));
    const ssize_t n = ::read(file.fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      fail({.what = "cannot read the file",
            .where = path.string(),
            .expected = "",
            .found = errno == EISDIR ? "a folder" : std::strerror(errno),
            .fix = "check the path"});
    struct stat info {};
    if (n == 0 && done == 0 && ::fstat(file.fd, &info) == 0 && S_ISFIFO(info.st_mode))
      fail({.what = "nothing came through the pipe",
            .where = path.string(),
            .expected = "a file, or a pipe that is written to",
            .found = "no writer",
            .fix = "check the path"});
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    if (done > limit)
      fail({.what = "file is too long",
            .where = path.string(),
            .expected = "at most " + std::to_string(limit) + " bytes",
            .found = "more",
            .fix = "check that this is the right file"});
  }
  text.resize(done);
  return text;
}

void write_file_atomically(const std::filesystem::path& given, const std::function<void(std::ostream&)>& write) {
  std::error_code none;
  const bool linked = std::filesystem::is_symlink(given, none);
  const std::filesystem::path resolved = linked ? std::filesystem::weakly_canonical(given, none) : given;
  const std::filesystem::path& path = resolved.empty() ? given : resolved;
  const std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  struct Cleanup {
    const std::filesystem::path& file;
    bool keep = false;
    ~Cleanup() {
      std::error_code ignored;
      if (!keep) std::filesystem::remove(file, ignored);
    }
  } cleanup{temporary};
  const auto refuse = [&](int error) {
    fail({.what = "cannot write the file",
          .where = path.string(),
          .expected = "",
          .found = std::strerror(error),
          .fix = error == ENOSPC ? "free disk space" : "check that the folder exists and is writable"});
  };
  // A device or a pipe is written to; renaming would put a file in its place.
  if (const auto kind = std::filesystem::status(path, none); std::filesystem::is_directory(kind)) {
    refuse(EISDIR);
  } else if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) {
    errno = 0;
    std::ofstream out(given, std::ios::binary);
    if (!out) refuse(errno ? errno : EIO);
    write(out);
    out.flush();
    if (!out) refuse(errno ? errno : EIO);
    return;
  }
  {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    if (!out) refuse(errno);
    write(out);
    out.flush();
    if (!out) refuse(errno ? errno : EIO);
  }
  Descriptor file{::open(temporary.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0 || ::fsync(file.fd) != 0) refuse(errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) refuse(errno);
  cleanup.keep = true;
}

}  // namespace tilewright

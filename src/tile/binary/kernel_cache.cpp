#include "tile/binary/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/cache_folder.h"
#include "base/hash.h"
#include "tile/binary/program_folder.h"

namespace tilewright::tile {
namespace {

constexpr char kMagic[8] = {'T', 'W', 'K', 'E', 'R', 'N', '0', '1'};
constexpr std::uint64_t kLargestFile = 2 * kLargestBlob;
constexpr const char* kEnding = ".twk";
constexpr const char* kUnfinished = ".unfinished-";
constexpr std::int64_t kForgottenSeconds = 3600;  // an unfinished file of that age has no writer any more
constexpr std::int64_t kTouchSeconds = 600;       // how exactly the last use is kept

// Followed by the key, the code, and two words of checksum over all before them.
struct Header {
  char magic[8];
  std::uint64_t key_bytes, code_bytes, blocks, run;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  operator int() const { return fd_; }  // NOLINT

 private:
  int fd_;
};

bool trusted(const struct stat& s, KernelCache::Kind kind) {
  if (kind == KernelCache::Kind::shipped) return (s.st_mode & S_IWOTH) == 0;
  return s.st_uid == geteuid() && (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int open_folder(const std::filesystem::path& folder, KernelCache::Kind kind) {
  if (folder.empty()) return -1;
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat s {};
  if (fd >= 0 && (fstat(fd, &s) != 0 || !trusted(s, kind))) {
    close(fd);
    return -1;
  }
  return fd;
}

bool read_all(int fd, std::byte* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = read(fd, to, bytes);
    if (n <= 0) return false;
    to += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}
bool write_all(int fd, const std::byte* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(fd, from, bytes);
    if (n <= 0) return false;
    from += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

std::string file_name(const std::string& key) { return hash_name(hash_text(key)) + kEnding; }

struct Entry {
  std::string name;
  std::int64_t used = 0, bytes = 0;
};

// The kernels of a folder; unfinished files without a writer are removed on the way.
std::vector<Entry> entries_of(int folder) {
  std::vector<Entry> out;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!list) {
    if (copy >= 0) close(copy);
    return out;
  }
  const std::int64_t now = time(nullptr);
  while (const dirent* d = readdir(list)) {
    const std::string name = d->d_name;
    struct stat s {};
    if (fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    if (name.starts_with(kUnfinished) && now - s.st_mtime > kForgottenSeconds) unlinkat(folder, name.c_str(), 0);
    if (name.ends_with(kEnding)) out.push_back({name, s.st_mtime, s.st_size});
  }
  closedir(list);
  return out;
}

void evict(int folder, std::uint64_t limit, const std::string& keep) {
  std::vector<Entry> entries = entries_of(folder);
  std::uint64_t total = 0;
  for (const Entry& e : entries) total += static_cast<std::uint64_t>(e.bytes);
  if (total <= limit) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (total <= limit - limit / 8) return;  // room for a while
    if (e.name == keep) continue;
    unlinkat(folder, e.name.c_str(), 0);
    total -= static_cast<std::uint64_t>(e.bytes);
  }
}

}  // namespace

std::vector<std::byte> kernel_file_bytes(const std::string& key, const Blob& blob) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_bytes = key.size();
  header.code_bytes = blob.bytes.size();
  header.blocks = blob.blocks;
  header.run = blob.run;
  std::vector<std::byte> out(sizeof header + key.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, key.data(), key.size());
  out.insert(out.end(), blob.bytes.begin(), blob.bytes.end());
  const Hash128 sum = hash_bytes(out);
  const auto* bytes = reinterpret_cast<const std::byte*>(sum.data());
  out.insert(out.end(), bytes, bytes + sizeof sum);
  return out;
}

std::optional<Blob> read_kernel_file(std::span<const std::byte> bytes, const std::string& key) {
  Header header;
  Hash128 sum;
  if (bytes.size() < sizeof header + sizeof sum || bytes.size() > kLargestFile) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t rest = bytes.size() - sizeof header - sizeof sum;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_bytes != key.size() ||
      header.code_bytes > rest || header.key_bytes != rest - header.code_bytes)
    return {};
  if (std::memcmp(bytes.data() + sizeof header, key.data(), key.size()) != 0) return {};
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  if (hash_bytes(bytes.first(bytes.size() - sizeof sum)) != sum) return {};
  if (header.run >= header.code_bytes || header.blocks >= header.code_bytes) return {};
  const auto code = bytes.subspan(sizeof header + key.size(), header.code_bytes);
  return Blob{{code.begin(), code.end()}, header.blocks, header.run};
}

std::filesystem::path KernelCache::file_of(const std::string& key) const { return folder_ / file_name(key); }

std::optional<Blob> KernelCache::find(const std::string& key) const {
  const Descriptor folder(open_folder(folder_, kind_));
  if (folder < 0) return {};
  // O_NONBLOCK: a pipe under that name must not keep us waiting.
  const Descriptor file(openat(folder, file_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat s {};
  if (file < 0 || fstat(file, &s) != 0 || !S_ISREG(s.st_mode) || !trusted(s, kind_)) return {};
  if (s.st_size <= 0 || static_cast<std::uint64_t>(s.st_size) > kLargestFile) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(s.st_size));
  if (!read_all(file, bytes.data(), bytes.size())) return {};
  std::optional<Blob> out = read_kernel_file(bytes, key);
  if (out && kind_ == Kind::own && time(nullptr) - s.st_mtime > kTouchSeconds) futimens(file, nullptr);
  return out;
}

void KernelCache::store(const std::string& key, const Blob& blob) const {
  if (folder_.empty() || kind_ != Kind::own) return;
  std::error_code error;
  std::filesystem::create_directories(folder_.parent_path(), error);
  mkdir(folder_.c_str(), 0700);
  const Descriptor folder(open_folder(folder_, kind_));
  if (folder < 0) return;
  const std::vector<std::byte> bytes = kernel_file_bytes(key, blob);
  if (bytes.size() > kLargestFile || bytes.size() > limit_) return;
  static std::atomic<unsigned> counter{0};
  const std::string unfinished = fmt::format("{}{}-{}", kUnfinished, getpid(), counter.fetch_add(1));
  bool written = false;
  {
    const Descriptor file(
        openat(folder, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file < 0) return;
    written = write_all(file, bytes.data(), bytes.size());
  }
  const std::string name = file_name(key);
  if (!written || renameat(folder, unfinished.c_str(), folder, name.c_str()) != 0) {
    unlinkat(folder, unfinished.c_str(), 0);
    return;
  }
  evict(folder, limit_, name);
}

std::filesystem::path user_kernel_folder() {
  const std::filesystem::path cache = user_cache_folder();
  return cache.empty() ? cache : cache / "kernels";
}

std::filesystem::path shipped_kernel_folder() {
  const std::filesystem::path here = program_folder();
  std::error_code error;
  for (const std::filesystem::path& base : {here, here.parent_path()})
    if (!here.empty() && std::filesystem::is_directory(base / "lib/tilewright/kernels", error))
      return base / "lib/tilewright/kernels";
  return {};
}

}  // namespace tilewright::tile

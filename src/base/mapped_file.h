// A whole file mapped read-only, and files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

// Owns the mapping; moved, never copied. The bytes stay valid as long as the object lives. An empty file maps to an
// empty span. Throws Error if the file is missing, unreadable or not a regular file. The size is taken once, at
// opening; a file that another process truncates later faults, as with every mapping.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  const std::filesystem::path& path() const { return path_; }
  // Tells the kernel that the pages holding these bytes are not needed soon (they stay valid; reading them again
  // reloads).
  void drop(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Reads a text file or a pipe whole. Throws Error if it cannot be opened or read, or holds more than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30);

// Calls `write` with a stream on a temporary file in the same folder, flushes it to disk and renames it to `path`. On
// any failure (also a full disk) the temporary file is removed, an older file under `path` is left as it was, and Error
// is thrown. A link is followed. What is no regular file (a device, a pipe) is written to as it is.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

}  // namespace tilewright

// One process at a time: flock(2) on a file, as other programs that share our folders use it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

namespace tilewright {

class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  // Makes the file (and its folders) if need be and never removes it. Nothing if another one, here or in another
  // process, holds it. Throws Error if the file cannot be made; a file system without locks counts as held by us.
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);
  // Tries until it has it, some ten times a second; `waiting` is called each time it has not. Throw from it to give up.
  static FileLock lock(const std::filesystem::path& path, const std::function<void()>& waiting = {});

 private:
  int file_ = -1;
};

}  // namespace tilewright

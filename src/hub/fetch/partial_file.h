// A download in progress: bytes that came so far, in a file that another process can go on with.
//
// Beside `path` lies `path`.state: the digest of everything up to each checkpoint, written after the bytes. Who opens
// the file again hashes it, keeps what agrees up to the last checkpoint that does, and cuts the rest off. So a torn or
// damaged tail costs at most one checkpoint's distance, and hashing needs no second pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/digest.h"

namespace tilewright::hub {

struct Checksum {
  Digest::Kind kind = Digest::Kind::sha256;
  std::string hex;         // expected, of the whole file
  std::uint64_t size = 0;  // of the whole file
  Digest begin() const;    // git's header is in already for sha1
};

class PartialFile {
 public:
  static constexpr std::uint64_t kCheckpoint = std::uint64_t{2} << 20;

  // Opens or makes it. A file without state (of another program) is taken whole, as long as it is not longer than the
  // expected size; one that is longer starts afresh. Throws Error (no space, not permitted …).
  PartialFile(std::filesystem::path path, const Checksum& checksum);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const Checksum& checksum() const { return checksum_; }
  std::uint64_t size() const;  // bytes held
  // Whether bytes were taken over that no state vouches for: a wrong sum in the end may be theirs.
  bool unproven() const;
  void append(std::span<const std::byte> bytes);  // Error beyond the expected size, or if the disk is full
  void restart();                                 // holds nothing now
  bool is_whole() const { return size() == checksum_.size; }
  // Whether the sum is right; only when it is whole.
  bool is_right() const;
  std::string sum() const;  // of the bytes held, in hexadecimal digits
  // Gives it its final name (replacing what is there), flushed, with the usual mode; the state goes. It must be right.
  void publish(const std::filesystem::path& to);
  void remove();  // it and its state

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::filesystem::path path_;
  Checksum checksum_;
};

}  // namespace tilewright::hub

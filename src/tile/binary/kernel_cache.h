// Compiled kernels on disk. Any number of processes may use one folder at once.
//
// A file <hash of the key>.twk holds the whole key, the code and a checksum over everything. Whatever does not fit in
// any way (torn, foreign, too large, another key, not ours, writable by others) counts as absent and is written anew;
// no trouble with the folder is ever an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tile/binary/blob.h"

namespace tilewright::tile {

class KernelCache {
 public:
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{256} << 20;
  enum class Kind {
    own,     // the user's: made if missing, written to; folder and files must be theirs and closed to others' writing
    shipped  // read only: part of the installation, so its owner may be another
  };
  // An empty folder name: a cache that holds nothing.
  KernelCache(std::filesystem::path folder, Kind kind, std::uint64_t limit_bytes = kDefaultLimit)
      : folder_(std::move(folder)), kind_(kind), limit_(limit_bytes) {}

  std::optional<Blob> find(const std::string& key) const;
  // Appears by rename. Removes the kernels that were used longest ago where the folder would exceed its limit.
  void store(const std::string& key, const Blob& blob) const;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
  Kind kind_;
  std::uint64_t limit_;
};

// The bytes of a file, and what they hold if they are whole and of this key.
std::vector<std::byte> kernel_file_bytes(const std::string& key, const Blob& blob);
std::optional<Blob> read_kernel_file(std::span<const std::byte> bytes, const std::string& key);

// kernels/ in the user's cache folder; empty if there is none.
std::filesystem::path user_kernel_folder();
// lib/tilewright/kernels beside the program, or in the folder above (bin/tilewright, build/tests/…); empty if neither
// is there.
std::filesystem::path shipped_kernel_folder();

}  // namespace tilewright::tile

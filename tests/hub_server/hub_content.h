// What the hub of the tests holds: bodies that are ready to be sent from anywhere, and repositories with their hashes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {

// Bytes that do not change: a text, a mapped file, or a pattern that repeats.
class Body {
 public:
  Body() : Body(std::string()) {}
  explicit Body(std::string text);
  static Body of(const HubFile& file);

  std::uint64_t size() const { return size_; }
  // Some of the bytes from `offset` on: at least one, at most `most`; `offset` < size().
  std::string_view at(std::uint64_t offset, std::uint64_t most) const;
  std::string all() const;

 private:
  std::shared_ptr<const std::string> text_;  // of a pattern: one period
  std::shared_ptr<const MappedFile> mapped_;
  std::uint64_t size_ = 0;
};

struct ServedFile {
  std::string path, etag, blob_id, xet_hash;
  bool lfs = false;
  std::uint64_t pointer_size = 0;  // of LFS files: what git holds instead
  Body body;
};

struct ServedRepository {
  explicit ServedRepository(HubRepository from);
  const ServedFile* find(const std::string& path) const;
  bool has_revision(const std::string& revision) const;

  std::string id, commit, token;
  bool gated = false;
  std::map<std::string, std::string> refs;
  std::vector<ServedFile> files;
  std::vector<std::string> recursive_listing;  // JSON objects, folders first

 private:
  std::map<std::string, std::size_t> by_path_;
};

std::string hash_of_text(const std::string& text);  // SHA-256
std::string tree_entry(const ServedFile& file);
std::string tree_entry_of_folder(const std::string& path);

}  // namespace tilewright::test

// The files of one commit: as the hub lists them, and as they are kept in trees/<commit>.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

struct RemoteFile {
  std::string path;         // within the repository; safe (names.h)
  std::uint64_t size = 0;   // bytes of the file itself
  std::string blob_id;      // git's SHA-1 of the file, or of its pointer where sha256 is set; 40 hex digits
  std::string sha256 = {};  // of files kept in LFS or Xet; 64 hex digits or empty
  std::string xet_hash = {};

  // What names its blob in the cache, and what its bytes are checked with.
  const std::string& etag() const { return sha256.empty() ? blob_id : sha256; }
  bool operator==(const RemoteFile&) const = default;
};

struct ListingPage {
  std::vector<RemoteFile> files;
  std::vector<std::string> folders;  // that the listing names; of a recursive one their files come as well
};
// One answer of /tree/. Throws Error for what is no such list, an unsafe name, a hash that is none, a size that is
// missing or negative.
ListingPage parse_listing_page(std::string_view json, const std::string& where);

struct RepositoryInfo {
  std::string commit;                 // 40 hex digits
  std::vector<std::string> siblings;  // all file names; empty if the answer has none
};
RepositoryInfo parse_repository_info(std::string_view json, const std::string& where);

// The "next" of a Link header ("<https://…>; rel=\"next\""); nothing if there is none.
std::optional<std::string> next_page(std::string_view link_header);

// Sorted by path. Throws Error if one path comes twice with different contents, or is a folder of another one.
std::vector<RemoteFile> whole_listing(std::vector<RemoteFile> files, const std::string& where);

// trees/<commit>.json in huggingface_hub's form (format_version 1). Reading: nothing if it is absent, of another
// version or damaged (also: an unsafe name). Writing is atomic; a folder that cannot be written is ignored.
std::optional<std::vector<RemoteFile>> read_tree_file(const std::filesystem::path& file);
void write_tree_file(const std::filesystem::path& file, const std::vector<RemoteFile>& files);

}  // namespace tilewright::hub

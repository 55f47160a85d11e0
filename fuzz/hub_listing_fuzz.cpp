// Any bytes as what a hub says: an Error, or names that stay in their folder, hashes that are hashes, and a tree file
// that is read as it was written. The first byte chooses what the rest is.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "hub/fetch/listing.h"
#include "hub/fetch/name_filter.h"
#include "hub/fetch/names.h"

using namespace tilewright;
using namespace tilewright::hub;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

const std::filesystem::path& scratch_file() {
  static const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("tilewright_hub_listing_fuzz_" + std::to_string(::getpid()) + ".json");
  static const bool removed_at_exit = std::atexit([] { std::filesystem::remove(scratch_file()); }) == 0;
  (void)removed_at_exit;
  return file;
}

void check_name(const std::string& name) {
  const std::filesystem::path folder = "/folder/of/a/model";
  require((folder / name).lexically_normal().string() == folder.string() + "/" + name);
  require(name.find('\\') == name.npos && name.find('\0') == name.npos);
}

void check_file(const RemoteFile& file) {
  check_name(file.path);
  require(is_hash(file.blob_id) && file.blob_id.size() == 40);
  require(file.sha256.empty() || (is_hash(file.sha256) && file.sha256.size() == 64));
  require(file.xet_hash.empty() || (is_hash(file.xet_hash) && file.xet_hash.size() == 64));
  require(is_hash(file.etag()) && file.size < std::uint64_t{1} << 63);
}

void check_listing(const std::vector<RemoteFile>& files) {
  for (const RemoteFile& file : files) check_file(file);
  const std::vector<RemoteFile> whole = whole_listing(files, "fuzz");  // or an Error
  write_tree_file(scratch_file(), whole);
  const auto again = read_tree_file(scratch_file());
  require(again && *again == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 6) {
      case 0: {
        const ListingPage page = parse_listing_page(text, "fuzz");
        for (const std::string& folder : page.folders) check_name(folder);
        check_listing(page.files);
        break;
      }
      case 1: {
        const RepositoryInfo info = parse_repository_info(text, "fuzz");
        require(is_commit(info.commit) && is_hash(info.commit));
        for (const std::string& sibling : info.siblings) check_name(sibling);
        break;
      }
      case 2: {
        std::ofstream(scratch_file(), std::ios::binary) << text;
        if (const auto files = read_tree_file(scratch_file())) check_listing(*files);
        break;
      }
      case 3:
        if (const auto next = next_page(text)) require(!next->empty() && text.find("<" + *next + ">") != text.npos);
        break;
      case 4:
        if (unsafe_name_reason(text).empty()) check_name(text);
        if (is_repository_id(text)) check_name(text);
        require_revision(text);
        check_name(text);
        break;
      default: {
        const std::size_t middle = text.find('\n');
        if (middle == text.npos) break;
        const std::string name = text.substr(0, middle), pattern = text.substr(middle + 1);
        if (name.size() * pattern.size() > 1'000'000) break;
        const bool taken = matches_pattern(name, pattern);
        require(!taken || matches_pattern(name, pattern + "*"));
        require(!taken || matches_pattern("x" + name, "*" + pattern));
        require(matches_pattern(name, "*"));
        if (pattern.find_first_of("*?[") == pattern.npos) require(taken == (name == pattern));
      }
    }
  } catch (const Error&) {
  }
  return 0;
}

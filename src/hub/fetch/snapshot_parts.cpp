#include "hub/fetch/snapshot_parts.h"

#include <algorithm>
#include <system_error>

#include "base/digest.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/fetch/names.h"
#include "hub/fetch/new_file.h"
#include "hub/patch/patch_record.h"

namespace tilewright::hub {

std::filesystem::path tidy_path(const std::filesystem::path& path) {
  std::filesystem::path tidy;
  for (const std::filesystem::path& part : std::filesystem::absolute(path))
    if (!part.empty() && part != ".") tidy /= part;
  return tidy;
}

void write_cache_tag(const std::filesystem::path& folder) {
  const std::filesystem::path tag = folder / "CACHEDIR.TAG";
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(tag, ignored))) return;
  try {
    replace_file(tag,
                 "Signature: 8a477f597d28d172789f06886806bc55\n"
                 "# Files below were fetched from a model hub and can be fetched again.\n"
                 "# What this file is for: https://bford.info/cachedir/\n");
  } catch (const Error&) {
  }
}

std::optional<std::string> read_commit(const std::filesystem::path& file) {
  try {
    std::string commit = read_text_file(file, 4096);
    while (!commit.empty() && std::string_view(" \r\n\t").find(commit.back()) != std::string_view::npos)
      commit.pop_back();
    if (is_commit(commit)) return usual_revision(commit);
  } catch (const Error&) {
  }
  return std::nullopt;
}

bool has_right_bytes(const std::filesystem::path& path, const RemoteFile& file) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) != file.size || error) return false;
  try {
    return digest_of_file(path, file.sha256.empty() ? git_blob_digest(file.size) : Digest(Digest::Kind::sha256)) ==
           file.etag();
  } catch (const Error&) {
    return false;
  }
}

const PatchedNames::Known& PatchedNames::known(const std::filesystem::path& directory) const {
  const std::lock_guard guard(mutex_);
  const auto [place, is_new] = known_.try_emplace(directory);
  if (is_new) place->second = {.patched = patched_files(directory), .foreign = foreign_backups(directory)};
  return place->second;
}

const std::vector<std::string>& PatchedNames::of(const std::filesystem::path& directory) const {
  return known(directory).patched;
}

bool PatchedNames::has_foreign_backup(const std::filesystem::path& directory, const std::string& path) const {
  const std::vector<std::string>& names = known(directory).foreign;
  return std::binary_search(names.begin(), names.end(), path);
}

bool PatchedNames::has(const std::filesystem::path& directory, const std::string& path) const {
  const std::vector<std::string>& names = of(directory);
  return std::binary_search(names.begin(), names.end(), path);
}

}  // namespace tilewright::hub

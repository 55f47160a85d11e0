#include "hub/fetch/listing.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "hub/fetch/names.h"
#include "hub/fetch/new_file.h"

namespace tilewright::hub {
namespace {

constexpr int kTreeFormat = 1;
constexpr std::size_t kLongestTreeFile = std::size_t{256} << 20;

// A text that a server sent, on one line and not longer than it.
std::string quoted_from_server(std::string text) {
  if (text.size() > 120) text.resize(120);
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void not_a_listing(const std::string& what, const std::string& where, const std::string& expected,
                                const std::string& found) {
  fail({.what = what,
        .where = where,
        .expected = expected,
        .found = found,
        .fix = "check HF_ENDPOINT; if it is right, tell the repository's owner"});
}

Json parse_answer(std::string_view text, const std::string& where) {
  try {
    return parse_json(text, where);
  } catch (const Error& error) {
    ErrorText words = error.text();
    const std::size_t begin = std::min(text.find_first_not_of(" \r\n\t\xef\xbb\xbf"), text.size());
    const bool page = begin < text.size() && text[begin] == '<';
    words.fix = page ? "this is a web page: if the network has a login page, log in there first; else check HF_ENDPOINT"
                     : "check HF_ENDPOINT: this does not look like a hub; if it is one, try again";
    fail(std::move(words));
  }
}

std::string safe_path(const Json& entry, const char* key, const std::string& where) {
  std::string path = required<std::string>(entry, key, where);
  if (const std::string reason = unsafe_name_reason(path); !reason.empty())
    fail({.what = "unsafe file name in the repository, nothing is fetched",
          .where = where,
          .expected = "a relative path that stays in its folder",
          .found = quoted_from_server(path) + ", which " + reason,
          .fix = "do not use this repository; tell its owner"});
  return path;
}

std::string required_hash(const Json& entry, const char* key, std::size_t digits, const std::string& where) {
  std::string hash = required<std::string>(entry, key, where);
  std::transform(hash.begin(), hash.end(), hash.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  if (!is_hash(hash) || (digits != 0 && hash.size() != digits))
    not_a_listing("\"" + std::string(key) + "\" is no hash", where,
                  (digits == 64   ? "64"
                   : digits == 40 ? "40"
                                  : "40 or 64") +
                      std::string(" hexadecimal digits"),
                  quoted_from_server(hash));
  return hash;
}

std::uint64_t required_size(const Json& entry, const char* key, const std::string& where) {
  const std::int64_t size = required<std::int64_t>(entry, key, where);
  if (size < 0) not_a_listing("a size is negative", where, "0 or more", std::to_string(size));
  return static_cast<std::uint64_t>(size);
}

bool has_value(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && !found->is_null();
}

// In a repository whose git hashes are SHA-256, those of 64 digits check the bytes only where LFS says so; such files
// cannot be told apart, and are refused.
RemoteFile listed_file(const Json& entry, std::string path, const std::string& where) {
  RemoteFile file{.path = std::move(path), .size = 0, .blob_id = required_hash(entry, "oid", 40, where)};
  if (has_value(entry, "lfs")) {
    const Json& lfs = entry["lfs"];
    if (!lfs.is_object()) not_a_listing("\"lfs\" has the wrong type", where, "an object", json_kind(lfs));
    file.sha256 = required_hash(lfs, "oid", 64, where);
  }
  // Some mirrors give the size of the pointer outside of "lfs".
  const bool in_lfs = !file.sha256.empty() && has_value(entry["lfs"], "size");
  file.size = required_size(in_lfs ? entry["lfs"] : entry, "size", where);
  if (has_value(entry, "xetHash")) file.xet_hash = required_hash(entry, "xetHash", 64, where);
  return file;
}

std::string what_came(const Json& json) {
  if (json.is_object() && json.contains("error") && json["error"].is_string())
    return "the message " + quoted_from_server(json["error"].get<std::string>());
  return json_kind(json);
}

RemoteFile tree_entry(const std::string& path, const Json& entry) {
  const std::string where = "trees file";
  if (!unsafe_name_reason(path).empty()) not_a_listing("unsafe name", where, "", "");
  RemoteFile file{
      .path = path, .size = required_size(entry, "size", where), .blob_id = required_hash(entry, "blob_id", 40, where)};
  if (has_value(entry, "lfs_sha256")) {
    file.sha256 = required_hash(entry, "lfs_sha256", 64, where);
    if (has_value(entry, "lfs_size")) file.size = required_size(entry, "lfs_size", where);
  }
  if (has_value(entry, "xet_hash")) file.xet_hash = required_hash(entry, "xet_hash", 64, where);
  return file;
}

}  // namespace

ListingPage parse_listing_page(std::string_view text, const std::string& where) {
  const Json json = parse_answer(text, where);
  if (!json.is_array()) not_a_listing("not a list of files", where, "[…]", what_came(json));
  ListingPage page;
  for (const Json& entry : json) {
    if (!entry.is_object()) not_a_listing("an entry of the list is none", where, "{…}", json_kind(entry));
    std::string path = safe_path(entry, "path", where);
    const std::string type = optional_or<std::string>(entry, "type", "file", where);
    const std::string here = where + ", " + quoted_from_server(path);
    if (type == "directory")
      page.folders.push_back(std::move(path));
    else if (type == "file")
      page.files.push_back(listed_file(entry, std::move(path), here));
    else
      not_a_listing("an entry is neither file nor folder", here, "\"file\" or \"directory\"", quoted_from_server(type));
  }
  return page;
}

RepositoryInfo parse_repository_info(std::string_view text, const std::string& where) {
  const Json json = parse_answer(text, where);
  if (!json.is_object()) not_a_listing("not the description of a repository", where, "{…}", what_came(json));
  RepositoryInfo info{.commit = required_hash(json, "sha", 40, where), .siblings = {}};
  if (!has_value(json, "siblings")) return info;
  const Json& siblings = json["siblings"];
  if (!siblings.is_array()) not_a_listing("\"siblings\" has the wrong type", where, "a list", json_kind(siblings));
  for (const Json& sibling : siblings) info.siblings.push_back(safe_path(sibling, "rfilename", where));
  return info;
}

std::optional<std::string> next_page(std::string_view header) {
  const auto skip = [&](std::string_view characters) {
    header.remove_prefix(std::min(header.find_first_not_of(characters), header.size()));
  };
  const auto take_until = [&](std::string_view characters) {
    const std::size_t end = std::min(header.find_first_of(characters), header.size());
    const std::string_view taken = header.substr(0, end);
    header.remove_prefix(end);
    return taken;
  };
  const auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y; });
  };
  for (;;) {
    skip(" \t,");
    if (!header.starts_with('<')) return std::nullopt;
    header.remove_prefix(1);
    const std::string target(take_until(">"));
    if (header.empty()) return std::nullopt;
    header.remove_prefix(1);
    bool next = false;
    for (skip(" \t"); header.starts_with(';'); skip(" \t")) {
      skip("; \t");
      const std::string_view name = take_until("=;, \t");
      skip(" \t");
      if (!header.starts_with('=')) continue;
      skip("= \t");
      std::string_view value;
      if (header.starts_with('"')) {
        header.remove_prefix(1);
        value = take_until("\"");
        if (!header.empty()) header.remove_prefix(1);
      } else {
        value = take_until(";, \t");
      }
      if (!same(name, "rel")) continue;
      for (std::size_t at = 0; at < value.size();) {
        const std::size_t end = std::min(value.find(' ', at), value.size());
        next = next || same(value.substr(at, end - at), "next");
        at = end + 1;
      }
    }
    if (next && !target.empty()) return target;
    take_until(",");
  }
}

std::vector<RemoteFile> whole_listing(std::vector<RemoteFile> files, const std::string& where) {
  const auto by_path = [](const RemoteFile& a, const RemoteFile& b) { return a.path < b.path; };
  std::sort(files.begin(), files.end(), by_path);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (std::size_t i = 1; i < files.size(); ++i)
    if (files[i].path == files[i - 1].path)
      not_a_listing("a file is listed twice with different contents", where, "one entry of each file",
                    quoted_from_server(files[i].path));
  for (const RemoteFile& file : files) {
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos; slash = file.path.find('/', slash + 1)) {
      const std::string_view folder = std::string_view(file.path).substr(0, slash);
      const auto found = std::lower_bound(files.begin(), files.end(), folder,
                                          [](const RemoteFile& a, std::string_view b) { return a.path < b; });
      if (found != files.end() && found->path == folder)
        not_a_listing("a name is a file and a folder", where, "one of them", quoted_from_server(found->path));
    }
  }
  return files;
}

std::optional<std::vector<RemoteFile>> read_tree_file(const std::filesystem::path& path) {
  try {
    const Json json = parse_json(read_text_file(path, kLongestTreeFile), path.string());
    if (required<std::int64_t>(json, "format_version", path.string()) != kTreeFormat) return std::nullopt;
    if (!json.contains("files") || !json["files"].is_object()) return std::nullopt;
    std::vector<RemoteFile> files;
    for (const auto& [name, entry] : json["files"].items()) files.push_back(tree_entry(name, entry));
    return whole_listing(std::move(files), path.string());
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_tree_file(const std::filesystem::path& path, const std::vector<RemoteFile>& files) {
  Json entries = Json::object();
  for (const RemoteFile& file : files) {
    Json entry{{"size", file.size}, {"blob_id", file.blob_id}};
    if (!file.sha256.empty()) {
      entry["lfs_sha256"] = file.sha256;
      entry["lfs_size"] = file.size;
    }
    if (!file.xet_hash.empty()) entry["xet_hash"] = file.xet_hash;
    entries[file.path] = std::move(entry);
  }
  try {
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    replace_file(path, Json{{"format_version", kTreeFormat}, {"files", std::move(entries)}}.dump(1));
  } catch (const Error&) {  // it only saves asking again
  }
}

}  // namespace tilewright::hub

#include "hub/patch/patch_record.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "hub/fetch/names.h"
#include "hub/patch/model_folder.h"
#include "hub/patch/pin.h"

namespace tilewright::hub {
namespace {

constexpr const char* kRecordFormat = "tilewright-patch-1";
constexpr std::string_view kForeignSuffixes[] = {".pypto_orig", ".hf_orig"};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

[[noreturn]] void damaged_record(const std::string& where, const std::string& expected, const std::string& found) {
  fail({.what = "the record of the patch is damaged",
        .where = where,
        .expected = expected,
        .found = found,
        .fix = "download the model again, or put the .orig files back by hand and remove .tilewright"});
}

std::string text_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string())
    damaged_record(where, std::string("text under \"") + key + "\"", object.is_object() ? "none" : json_kind(object));
  return object[key].get<std::string>();
}

const Json& list_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_array())
    damaged_record(where, std::string("a list under \"") + key + "\"", object.is_object() ? "none" : json_kind(object));
  return object[key];
}

void require_patchable(const std::string& path, const std::string& where) {
  if (const std::string reason = unpatchable_reason(path); !reason.empty())
    damaged_record(where, "paths inside the model", "\"" + path + "\": " + reason);
}

}  // namespace

std::string unpatchable_reason(std::string_view path) {
  if (std::string reason = unsafe_name_reason(path); !reason.empty()) return reason;
  std::string first(path.substr(0, path.find('/')));
  for (char& c : first)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return first == kTilewrightFolder ? "lies under .tilewright, which is not the model's" : "";
}

std::string backup_name(const std::string& path, int attempt) {
  if (attempt == 0) return path + ".orig";
  return path + (attempt == 1 ? ".tilewright.orig" : ".tilewright." + std::to_string(attempt) + ".orig");
}

bool is_backup_name(const std::string& path, const std::string& backup) {
  if (backup.size() <= path.size() || backup.compare(0, path.size(), path) != 0) return false;
  const std::string_view rest = std::string_view(backup).substr(path.size());
  if (rest == ".orig" || rest == ".tilewright.orig") return true;
  if (std::find(std::begin(kForeignSuffixes), std::end(kForeignSuffixes), rest) != std::end(kForeignSuffixes))
    return true;
  constexpr std::string_view begin = ".tilewright.", end = ".orig";
  if (rest.size() <= begin.size() + end.size() || rest.substr(0, begin.size()) != begin || !ends_with(rest, end))
    return false;
  const std::string_view number = rest.substr(begin.size(), rest.size() - begin.size() - end.size());
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Json patch_record_json(const PatchRecord& record) {
  Json files = Json::array();
  for (const PatchedFile& file : record.files) {
    Json entry = {{"path", file.path}, {"sha256", file.sha256}};
    if (!file.backup.empty()) entry["backup"] = file.backup;
    if (!file.ours) entry["ours"] = false;
    files.push_back(entry);
  }
  Json json = {{"format", kRecordFormat}, {"files", files}, {"folders", record.folders}};
  if (!record.overlay_of.empty()) json["overlay_of"] = record.overlay_of;
  return json;
}

PatchRecord parse_patch_record(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = parse_json(text, where);
  } catch (const Error&) {
    damaged_record(where, "JSON", text.empty() ? "an empty file" : "something else");
  }
  if (const std::string format = text_member(json, "format", where); format != kRecordFormat)
    damaged_record(where, std::string("format ") + kRecordFormat, "\"" + format + "\"");
  PatchRecord record;
  for (const Json& entry : list_member(json, "files", where)) {
    PatchedFile file;
    file.path = text_member(entry, "path", where);
    require_patchable(file.path, where);
    file.sha256 = text_member(entry, "sha256", where);
    if (!is_hash(file.sha256) || file.sha256.size() != 64)
      damaged_record(where, "a SHA-256", "\"" + file.sha256 + "\"");
    if (entry.contains("backup")) {
      file.backup = text_member(entry, "backup", where);
      require_patchable(file.backup, where);
      if (!is_backup_name(file.path, file.backup))
        damaged_record(where, "a backup named after \"" + file.path + "\"", "\"" + file.backup + "\"");
    }
    if (entry.contains("ours") && entry["ours"].is_boolean()) file.ours = entry["ours"].get<bool>();
    record.files.push_back(std::move(file));
  }
  std::sort(record.files.begin(), record.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < record.files.size(); ++i)
    if (record.files[i].path == record.files[i - 1].path)
      damaged_record(where, "each path once", "\"" + record.files[i].path + "\" twice");
  for (const Json& folder : list_member(json, "folders", where)) {
    if (!folder.is_string()) damaged_record(where, "folders by name", json_kind(folder));
    record.folders.push_back(folder.get<std::string>());
    require_patchable(record.folders.back(), where);
  }
  if (json.contains("overlay_of")) record.overlay_of = text_member(json, "overlay_of", where);
  return record;
}

std::optional<PatchRecord> read_patch_record(const std::filesystem::path& directory) {
  const ModelFolder folder(directory);
  const std::string name = std::string(kTilewrightFolder) + "/patch.json";
  if (folder.look(kTilewrightFolder).kind == EntryKind::absent || folder.look(name).kind == EntryKind::absent)
    return std::nullopt;
  return parse_patch_record(folder.read(name), (directory / name).string());
}

std::vector<std::string> patched_files(const std::filesystem::path& directory) {
  std::vector<std::string> paths;
  try {
    if (const auto record = read_patch_record(directory))
      for (const PatchedFile& file : record->files) paths.push_back(file.path);
  } catch (const Error&) {
  }
  return paths;
}

std::vector<std::string> foreign_backups_of(const ModelFolder& folder, const std::string& path) {
  std::vector<std::pair<EntryLook, std::string>> found;
  for (const std::string_view suffix : kForeignSuffixes) {
    const std::string name = path + std::string(suffix);
    const EntryLook look = folder.look(name);
    if (look.kind == EntryKind::file || look.kind == EntryKind::link) found.emplace_back(look, name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first.modified < b.first.modified; });
  std::vector<std::string> names;
  for (const auto& [look, name] : found) names.push_back(name);
  return names;
}

std::optional<std::string> foreign_backup(const std::filesystem::path& directory, const std::string& path) {
  const std::vector<std::string> names = foreign_backups_of(ModelFolder(directory), path);
  return names.empty() ? std::nullopt : std::optional(names.front());
}

std::vector<std::string> foreign_backups(const std::filesystem::path& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk it(directory, std::filesystem::directory_options::skip_permission_denied, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().lexically_relative(directory).generic_string();
    if (path == kTilewrightFolder || it.depth() > 32) it.disable_recursion_pending();
    for (const std::string_view suffix : kForeignSuffixes) {
      if (!ends_with(path, suffix)) continue;
      const std::string original = path.substr(0, path.size() - suffix.size());
      if (unpatchable_reason(original).empty() && foreign_backup(directory, original)) paths.push_back(original);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace tilewright::hub

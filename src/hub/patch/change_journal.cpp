#include "hub/patch/change_journal.h"

#include <algorithm>

#include "base/error.h"
#include "hub/fetch/names.h"
#include "hub/patch/patch_record.h"

namespace tilewright::hub {
namespace {

constexpr const char* kJournalFormat = "tilewright-journal-1";

[[noreturn]] void damaged_journal(const std::string& where, const std::string& expected, const std::string& found) {
  fail(
      {.what = "the journal of an interrupted change is damaged",
       .where = where,
       .expected = expected,
       .found = found,
       .fix =
           "if the directory came so from elsewhere, remove .tilewright; else put the .orig files back by hand first"});
}

std::string journal_text(const Json& entry, const char* key, const std::string& where) {
  if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string())
    damaged_journal(where, std::string("text under \"") + key + "\"", entry.is_object() ? "none" : json_kind(entry));
  return entry[key].get<std::string>();
}

bool is_numbered(const std::string& path, std::string_view folder) {
  if (path.size() < folder.size() + 2 || path.compare(0, folder.size(), folder) != 0 || path[folder.size()] != '/')
    return false;
  return std::all_of(path.begin() + std::ptrdiff_t(folder.size()) + 1, path.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool is_edited_name(const std::string& path, const std::string& name) {
  const std::string first = edited_name(path, 0);
  if (name == first) return true;
  return name.size() > first.size() + 1 && name.compare(0, first.size() + 1, first + ".") == 0 &&
         std::all_of(name.begin() + std::ptrdiff_t(first.size()) + 1, name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool is_journal_path(const std::string& path) {
  return path == kRecordPath || path == kPinPath || unpatchable_reason(path).empty();
}

void require_sound(const JournalFile& file, Journal::Action action, const std::string& where) {
  const auto require = [&](bool sound, const char* expected, const std::string& found) {
    if (!sound) damaged_journal(where, expected, "\"" + found + "\"");
  };
  require(is_journal_path(file.path), "paths inside the model", file.path);
  require(file.was.empty() || file.was.compare(0, 7, "sha256:") == 0 || file.was.compare(0, 5, "link:") == 0,
          "what stood there", file.was);
  if (action == Journal::Action::revert) {
    require(file.from.empty() || (unpatchable_reason(file.from).empty() && is_backup_name(file.path, file.from)),
            "a backup named after its path", file.from);
    return;
  }
  require(is_numbered(file.from, kNewFolder), "a new file under .tilewright/new", file.from);
  require(file.sha256.size() == 64 && is_hash(file.sha256), "a SHA-256", file.sha256);
  require(file.was.empty() == file.keep.empty(), "a place for what stood there", file.keep);
  require(file.keep.empty() || is_numbered(file.keep, kOldFolder) || is_edited_name(file.path, file.keep) ||
              (unpatchable_reason(file.keep).empty() && is_backup_name(file.path, file.keep)),
          "a backup named after its path", file.keep);
}

}  // namespace

std::string edited_name(const std::string& path, int attempt) {
  return path + (attempt == 0 ? ".edited" : ".edited." + std::to_string(attempt + 1));
}

Json journal_json(const Journal& journal) {
  Json files = Json::array();
  for (const JournalFile& file : journal.files)
    files.push_back(
        {{"path", file.path}, {"from", file.from}, {"sha256", file.sha256}, {"was", file.was}, {"keep", file.keep}});
  return {{"format", kJournalFormat},
          {"action", journal.action == Journal::Action::apply ? "apply" : "revert"},
          {"files", files},
          {"folders", journal.folders}};
}

Journal parse_journal(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = parse_json(text, where);
  } catch (const Error&) {
    damaged_journal(where, "JSON", text.empty() ? "an empty file" : "something else");
  }
  if (const std::string format = journal_text(json, "format", where); format != kJournalFormat)
    damaged_journal(where, std::string("format ") + kJournalFormat, "\"" + format + "\"");
  const std::string action = journal_text(json, "action", where);
  if (action != "apply" && action != "revert") damaged_journal(where, "apply or revert", "\"" + action + "\"");
  Journal journal;
  journal.action = action == "apply" ? Journal::Action::apply : Journal::Action::revert;
  for (const char* list : {"files", "folders"})
    if (!json.contains(list) || !json[list].is_array())
      damaged_journal(where, std::string("a list of ") + list, "none");
  for (const Json& entry : json["files"]) {
    JournalFile file;
    file.path = journal_text(entry, "path", where);
    file.from = journal_text(entry, "from", where);
    file.sha256 = journal_text(entry, "sha256", where);
    file.was = journal_text(entry, "was", where);
    file.keep = journal_text(entry, "keep", where);
    require_sound(file, journal.action, where);
    journal.files.push_back(std::move(file));
  }
  for (const Json& folder : json["folders"]) {
    if (!folder.is_string() || !unpatchable_reason(folder.get<std::string>()).empty())
      damaged_journal(where, "folders inside the model", folder.dump(-1, ' ', false, Json::error_handler_t::replace));
    journal.folders.push_back(folder.get<std::string>());
  }
  return journal;
}

}  // namespace tilewright::hub

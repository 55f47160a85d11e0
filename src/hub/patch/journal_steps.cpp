// What a journal stands for, step by step. Each function looks before it acts: it may have been killed at any step
// before.
#include <algorithm>

#include "base/error.h"
#include "hub/patch/change_journal.h"
#include "hub/patch/pin.h"

namespace tilewright::hub {
namespace {

constexpr const char* kJournalDraft = ".tilewright/journal.json.new";
constexpr const char* kScratch = ".tilewright/copy";  // of an original, where hard links cannot be

bool is_there(const ModelFolder& folder, const std::string& path) {
  return folder.look(path).kind != EntryKind::absent;
}

bool holds_new(const ModelFolder& folder, const JournalFile& file) {
  return folder.look(file.path).kind == EntryKind::file && folder.identity(file.path) == "sha256:" + file.sha256;
}

bool can_apply_file(const ModelFolder& folder, const JournalFile& file) {
  const EntryLook coming = folder.look(file.from);
  if (coming.kind == EntryKind::absent) return holds_new(folder, file);
  if (coming.kind != EntryKind::file || folder.identity(file.from) != "sha256:" + file.sha256) return false;
  const EntryLook now = folder.look(file.path);
  if (file.was.empty()) return now.kind == EntryKind::absent;
  const EntryLook kept = folder.look(file.keep);
  if (now.kind == EntryKind::absent) return kept.kind != EntryKind::absent && folder.identity(file.keep) == file.was;
  if (now.kind != EntryKind::file && now.kind != EntryKind::link) return false;
  return kept.kind == EntryKind::absent || kept.same_file(now) || folder.identity(file.keep) == file.was;
}

void apply_file(ModelFolder& folder, const JournalFile& file) {
  if (!is_there(folder, file.from)) return;  // in place already
  if (!file.keep.empty() && !is_there(folder, file.keep)) folder.keep_as(file.path, file.keep, kScratch);
  folder.move_over(file.from, file.path);
}

// Gives what stands under `path` another name as well, one that is free, unless it has one already.
std::string keep_edited(ModelFolder& folder, const std::string& path) {
  const EntryLook now = folder.look(path);
  const std::string identity = folder.identity(path);
  for (int attempt = 0;; ++attempt) {
    const std::string name = edited_name(path, attempt);
    const EntryLook there = folder.look(name);
    if (there.kind == EntryKind::absent) {
      folder.keep_as(path, name, kScratch);
      return name;
    }
    if (there.same_file(now) || (!identity.empty() && folder.identity(name) == identity)) return name;
  }
}

void undo_file(ModelFolder& folder, const JournalFile& file) {
  const EntryLook now = folder.look(file.path);
  if (file.was.empty()) {
    if (holds_new(folder, file)) folder.remove(file.path);
    return;
  }
  const EntryLook kept = folder.look(file.keep);
  if (kept.kind == EntryKind::absent) return;
  if (kept.same_file(now)) return folder.remove(file.keep);
  const bool ours = folder.identity(file.keep) == file.was;
  if (now.kind == EntryKind::absent || holds_new(folder, file)) return folder.move_over(file.keep, file.path);
  if (!ours) return;  // somebody else's, made since
  if (folder.identity(file.path) == file.was) return folder.remove(file.keep);
  keep_edited(folder, file.path);
  folder.move_over(file.keep, file.path);
}

bool is_own(const std::string& path) { return path == kRecordPath || path == kPinPath; }

void put_back(ModelFolder& folder, const JournalFile& file, std::vector<std::string>& kept) {
  const EntryLook original = folder.look(file.from);
  if (original.kind == EntryKind::absent) return;  // back already
  const EntryLook now = folder.look(file.path);
  if (now.kind != EntryKind::absent && !now.same_file(original)) {
    const std::string identity = folder.identity(file.path);
    if (identity != file.was && identity != folder.identity(file.from)) kept.push_back(keep_edited(folder, file.path));
  }
  folder.move_over(file.from, file.path);
}

void take_away(ModelFolder& folder, const JournalFile& file, std::vector<std::string>& kept) {
  const EntryLook now = folder.look(file.path);
  if (now.kind != EntryKind::file && now.kind != EntryKind::link) return;
  if (!is_own(file.path) && folder.identity(file.path) != file.was) kept.push_back(keep_edited(folder, file.path));
  folder.remove(file.path);
}

void empty_folder(ModelFolder& folder, const char* path) {
  for (const std::string& name : folder.names_in(path)) {
    const std::string entry = std::string(path) + "/" + name;
    const EntryKind kind = folder.look(entry).kind;
    if (kind == EntryKind::file || kind == EntryKind::link) folder.remove(entry);
  }
  folder.remove_if_empty(path);
}

}  // namespace

void write_journal(ModelFolder& folder, const Journal& journal) {
  folder.remove(kJournalDraft);
  folder.write_new(kJournalDraft, journal_json(journal).dump(1) + "\n", 0644);
  folder.move_over(kJournalDraft, kJournalPath);
}

bool can_apply(const ModelFolder& folder, const Journal& journal) {
  const auto free_for_folder = [&](const std::string& path) {
    const EntryKind kind = folder.look(path).kind;
    return kind == EntryKind::absent || kind == EntryKind::folder;
  };
  return std::all_of(journal.folders.begin(), journal.folders.end(), free_for_folder) &&
         std::all_of(journal.files.begin(), journal.files.end(),
                     [&](const JournalFile& file) { return can_apply_file(folder, file); });
}

void apply_steps(ModelFolder& folder, const Journal& journal) {
  for (const std::string& path : journal.folders) {
    const bool made = !is_there(folder, path);
    folder.make_folder(path);
    if (made) folder.own_like(path, "");
  }
  folder.make_folder(kOldFolder);
  folder.own_like(kOldFolder, "");
  for (const JournalFile& file : journal.files) apply_file(folder, file);
}

void undo_steps(ModelFolder& folder, const Journal& journal) {
  for (auto file = journal.files.rbegin(); file != journal.files.rend(); ++file) undo_file(folder, *file);
  for (auto path = journal.folders.rbegin(); path != journal.folders.rend(); ++path) folder.remove_if_empty(*path);
}

std::vector<std::string> revert_steps(ModelFolder& folder, const Journal& journal) {
  std::vector<std::string> kept;
  for (const JournalFile& file : journal.files)
    if (file.from.empty())
      take_away(folder, file, kept);
    else
      put_back(folder, file, kept);
  for (const std::string& path : journal.folders) folder.remove_if_empty(path);
  return kept;
}

void close_journal(ModelFolder& folder) {
  if (folder.look(kTilewrightFolder).kind != EntryKind::folder) return;
  folder.remove(kJournalPath);
  folder.remove(kJournalDraft);
  folder.remove(kScratch);
  for (const char* path : {kNewFolder, kOldFolder})
    if (folder.look(path).kind == EntryKind::folder) empty_folder(folder, path);
  if (!is_there(folder, kRecordPath) && !is_there(folder, kPinPath)) folder.remove_if_empty(kTilewrightFolder);
}

bool has_leftovers(const ModelFolder& folder) {
  if (folder.look(kTilewrightFolder).kind != EntryKind::folder) return false;
  for (const char* path : {kJournalPath, kJournalDraft, kScratch, kNewFolder, kOldFolder})
    if (is_there(folder, path)) return true;
  return !is_there(folder, kRecordPath) && !is_there(folder, kPinPath);
}

}  // namespace tilewright::hub

#include "hub/patch/directory_change.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/digest.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/patch/change_journal.h"
#include "hub/patch/model_folder.h"

namespace tilewright::hub {
namespace {

constexpr int kMostNames = 10000;

// config.json decides what is loaded: everything that it names is in place before it changes, and goes after it.
int change_rank(const std::string& path) {
  if (path == kRecordPath) return 0;
  if (path == kPinPath) return 1;
  if (path == "config.json") return 4;
  return path == "tokenizer_config.json" ? 3 : 2;
}

void require_nothing_left(const ModelFolder& folder) {
  if (folder.look(kTilewrightFolder).kind == EntryKind::absent) return;
  if (folder.look(kJournalPath).kind != EntryKind::absent)
    fail({.what = "an interrupted change is not finished",
          .where = folder.path().string(),
          .expected = "a model that no command left half changed",
          .found = kJournalPath,
          .fix = "run tilewright patch or tilewright unpatch again"});
}

[[noreturn]] void refuse_path(const std::string& path, const std::string& what, const std::string& found) {
  fail({.what = what,
        .where = path,
        .expected = "the path of a file inside the model",
        .found = found,
        .fix = "choose another path"});
}

bool by_depth(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& path) {
    return std::make_tuple(-std::count(path.begin(), path.end(), '/'), std::cref(path));
  };
  return key(a) < key(b);
}

// Finds out what a change means for this directory, without writing.
class ChangePlan {
 public:
  ChangePlan(ModelFolder& folder, const DirectoryChange& change) : folder_(folder), change_(change) {
    if (auto record = read_patch_record(folder.path())) record_ = std::move(*record);
    if (!change.overlay_of.empty()) record_.overlay_of = change.overlay_of;
    for (const auto& [path, contents] : change.write) paths_.insert(path);
    for (const auto& [path, source] : change.copy)
      if (!paths_.insert(path).second) refuse_path(path, "a file is written and copied", "both");
    for (const std::string& path : paths_) require_allowed(path);
    for (const auto& [path, contents] : change.write) add(path, sha256_of_text(contents));
    for (const auto& [path, source] : change.copy) add(path, sha256_of_file(source));
    std::sort(record_.files.begin(), record_.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    std::sort(record_.folders.begin(), record_.folders.end(), by_depth);
    plan_pin();
    if (!journal_.files.empty() || change.pin || read_patch_record(folder.path()))
      plan_own(kRecordPath, patch_record_json(record_).dump(1) + "\n");
    std::stable_sort(journal_.files.begin(), journal_.files.end(),
                     [](const auto& a, const auto& b) { return change_rank(a.path) < change_rank(b.path); });
    std::reverse(journal_.folders.begin(), journal_.folders.end());
  }

  const Journal& journal() const { return journal_; }
  Applied applied() const { return {record_, kept_, !journal_.files.empty()}; }

  void stage() {
    folder_.make_folder(kTilewrightFolder);
    folder_.make_folder(kNewFolder);
    folder_.own_like(kTilewrightFolder, "");
    folder_.own_like(kNewFolder, "");
    for (const JournalFile& file : journal_.files) {
      stage(file);
      folder_.own_like(file.from, file.path);
    }
  }

 private:
  void stage(const JournalFile& file) {
    if (const auto copy = change_.copy.find(file.path); copy != change_.copy.end()) {
      if (folder_.copy_new(file.from, copy->second) != file.sha256)
        fail({.what = "the file changed while it was copied",
              .where = copy->second.string(),
              .expected = "",
              .found = "",
              .fix = "try again"});
      return;
    }
    const auto own = own_.find(file.path);
    folder_.write_new(file.from, own != own_.end() ? own->second : change_.write.at(file.path), mode_of(file.path));
  }

  void require_allowed(const std::string& path) const {
    if (const std::string reason = unpatchable_reason(path); !reason.empty())
      refuse_path(path, "a patch may not write this file", reason);
    for (const std::string& other : paths_)
      if (other.size() > path.size() && other.compare(0, path.size() + 1, path + "/") == 0)
        refuse_path(path, "a patch cannot write a file and a file below it", other);
    for (const PatchedFile& file : record_.files)
      if (file.backup == path) refuse_path(path, "this is the only copy of an original", "the backup of " + file.path);
    for (const char* suffix : {".pypto_orig", ".hf_orig"}) {
      const std::string_view end = suffix;
      if (path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0 &&
          folder_.look(path).kind != EntryKind::absent)
        refuse_path(path, "this is the only copy of an original", "a backup of another tool");
    }
    const EntryKind kind = folder_.look(path).kind;
    if (kind == EntryKind::folder || folder_.look_through(path).kind == EntryKind::folder)
      refuse_path(path, "a folder has this name", "a folder");
    if (kind == EntryKind::other) refuse_path(path, "something that is no file has this name", "a device or pipe");
  }

  void add(const std::string& path, const std::string& sha256) {
    const std::string identity = folder_.identity(path);
    auto known = std::find_if(record_.files.begin(), record_.files.end(),
                              [&](const PatchedFile& file) { return file.path == path; });
    hashes_[path] = sha256;
    if (holds_already(path, sha256)) {
      if (known != record_.files.end()) known->sha256 = sha256;
      return;
    }
    JournalFile file{path, next("new"), sha256, identity, ""};
    if (known != record_.files.end()) {
      const bool edited = !identity.empty() && identity != "sha256:" + known->sha256;
      if (edited) kept_.push_back(free_name(path, edited_name));
      if (!identity.empty()) file.keep = edited ? kept_.back() : next("old");
      known->sha256 = sha256;
    } else {
      PatchedFile added{path, sha256, "", true};
      if (!record_.overlay_of.empty()) {
        if (identity.compare(0, 5, "link:") == 0) {
          file.keep = next("old");  // the original lies in the model
        } else if (!identity.empty()) {
          kept_.push_back(free_name(path, edited_name));
          file.keep = kept_.back();
        }
      } else if (const auto foreign = foreign_backup(folder_.path(), path)) {
        added.backup = *foreign;
        added.ours = false;
        if (!identity.empty()) file.keep = next("old");
      } else if (!identity.empty()) {
        added.backup = file.keep = free_name(path, backup_name);
      }
      record_.files.push_back(added);
    }
    journal_.files.push_back(file);
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = path.rfind('/', slash - 1))
      if (const std::string outer = path.substr(0, slash); folder_.look(outer).kind == EntryKind::absent)
        add_folder(outer);
  }

  void add_folder(const std::string& path) {
    if (std::find(journal_.folders.begin(), journal_.folders.end(), path) == journal_.folders.end())
      journal_.folders.push_back(path);
    if (std::find(record_.folders.begin(), record_.folders.end(), path) == record_.folders.end())
      record_.folders.push_back(path);
    std::sort(journal_.folders.begin(), journal_.folders.end(), by_depth);
  }

  // Also through a link: what is so already is not written again.
  bool holds_already(const std::string& path, const std::string& sha256) const {
    if (folder_.look_through(path).kind != EntryKind::file) return false;
    return sha256_of_file(folder_.path() / path) == sha256;
  }

  std::string next(const char* kind) const {
    return std::string(kTilewrightFolder) + "/" + kind + "/" + std::to_string(journal_.files.size());
  }

  std::string free_name(const std::string& path, std::string (*name)(const std::string&, int)) const {
    for (int attempt = 0; attempt < kMostNames; ++attempt) {
      const std::string candidate = name(path, attempt);
      const bool recorded = std::any_of(record_.files.begin(), record_.files.end(), [&](const PatchedFile& file) {
        return file.backup == candidate || file.path == candidate;
      });
      if (!recorded && !paths_.count(candidate) && folder_.look(candidate).kind == EntryKind::absent) return candidate;
    }
    refuse_path(path, "no free name for a backup", std::to_string(kMostNames) + " names are taken");
  }

  void plan_pin() {
    std::optional<Pin> pin = change_.pin;
    try {
      if (!pin && !hashes_.empty()) pin = read_pin(folder_.path());
    } catch (const Error&) {  // it stays as it is; loading warns of it
    }
    if (!pin) return;
    for (auto& [path, sha256] : pin->files)
      if (const auto written = hashes_.find(path); written != hashes_.end()) sha256 = written->second;
    plan_own(kPinPath, pin_json(*pin).dump(1) + "\n");
  }

  void plan_own(const char* path, const std::string& contents) {
    const std::string sha256 = sha256_of_text(contents);
    const EntryKind kind =
        folder_.look(kTilewrightFolder).kind == EntryKind::absent ? EntryKind::absent : folder_.look(path).kind;
    const std::string identity = kind == EntryKind::absent ? "" : folder_.identity(path);
    if (identity == "sha256:" + sha256) return;
    own_[path] = contents;
    journal_.files.push_back({path, next("new"), sha256, identity, identity.empty() ? "" : next("old")});
  }

  mode_t mode_of(const std::string& path) const {
    if (const EntryLook now = folder_.look_through(path); now.kind == EntryKind::file) return now.mode & 0777;
    return 0644;
  }

  ModelFolder& folder_;
  const DirectoryChange& change_;
  std::set<std::string> paths_;
  std::map<std::string, std::string> hashes_, own_;  // own_: contents of record and pin
  PatchRecord record_;
  Journal journal_;
  std::vector<std::string> kept_;
};

void plan_put_back(const ModelFolder& folder, const PatchedFile& file, Journal& journal) {
  const EntryKind now = folder.look(file.path).kind;
  if (now == EntryKind::folder || now == EntryKind::other)
    fail({.what = "a folder is in the place of a patched file",
          .where = (folder.path() / file.path).string(),
          .expected = "a file",
          .found = now == EntryKind::folder ? "a folder" : "something else",
          .fix = "move it away"});
  if (!file.backup.empty()) {
    const EntryKind kept = folder.look(file.backup).kind;
    if (kept != EntryKind::file && kept != EntryKind::link)
      fail({.what = "the backup of a patched file is lost",
            .where = (folder.path() / file.backup).string(),
            .expected = "the original of " + file.path,
            .found = kept == EntryKind::absent ? "nothing" : "no file",
            .fix = "put the original there, or download the model again"});
  }
  journal.files.push_back({file.path, file.backup, "", "sha256:" + file.sha256, ""});
}

// Backups of other tools hold the publisher's bytes, unless we had patched the file before; a backup that is not used
// is of what a tool had written. None may stay under its name: the next unpatch would put it back.
void plan_foreign(const ModelFolder& folder, const PatchRecord& record, Journal& journal) {
  for (const std::string& path : foreign_backups(folder.path())) {
    const auto known = std::find_if(record.files.begin(), record.files.end(),
                                    [&](const PatchedFile& file) { return file.path == path; });
    const std::vector<std::string> backups = foreign_backups_of(folder, path);
    std::string original = known == record.files.end() ? backups.front() : known->backup;
    if (known == record.files.end()) {
      const EntryKind now = folder.look(path).kind;
      if (now == EntryKind::folder || now == EntryKind::other) continue;
      journal.files.push_back({path, original, "", folder.identity(path), ""});
    }
    const std::string was = known == record.files.end() ? folder.identity(original) : "sha256:" + known->sha256;
    for (const std::string& backup : backups)
      if (backup != original) journal.files.push_back({backup, "", "", was, ""});
  }
}

Journal plan_revert(const ModelFolder& folder) {
  Journal journal;
  journal.action = Journal::Action::revert;
  const PatchRecord record = read_patch_record(folder.path()).value_or(PatchRecord{});
  if (!record.overlay_of.empty())
    fail({.what = "this is an overlay, which has no originals",
          .where = folder.path().string(),
          .expected = "a model that was patched in place",
          .found = "an overlay of " + record.overlay_of,
          .fix = "remove the overlay; the model it was made from was never changed"});
  for (const PatchedFile& file : record.files) plan_put_back(folder, file, journal);
  plan_foreign(folder, record, journal);
  std::stable_sort(journal.files.begin(), journal.files.end(),
                   [](const auto& a, const auto& b) { return change_rank(a.path) > change_rank(b.path); });
  for (const JournalFile& file : journal.files) {
    const std::size_t slash = file.path.rfind('/');
    folder.require_writable(slash == std::string::npos ? "" : file.path.substr(0, slash));
  }
  if (folder.look(kTilewrightFolder).kind != EntryKind::absent)
    for (const char* own : {kRecordPath, kPinPath})
      if (folder.look(own).kind != EntryKind::absent) journal.files.push_back({own, "", "", folder.identity(own), ""});
  journal.folders = record.folders;
  return journal;
}

}  // namespace

bool left_unfinished(const std::filesystem::path& directory) {
  const ModelFolder folder(directory);
  return has_leftovers(folder);
}

std::string recover_directory(const std::filesystem::path& directory, const StepHook& hook) {
  const DirectoryLock lock(directory);
  ModelFolder folder(directory, hook);
  if (!has_leftovers(folder)) return "";
  if (folder.look(kJournalPath).kind == EntryKind::absent) {
    close_journal(folder);
    return "cleared away what an interrupted command had only prepared";
  }
  const Journal journal = parse_journal(folder.read(kJournalPath), (directory / kJournalPath).string());
  std::string done;
  if (journal.action == Journal::Action::revert) {
    done = "finished an unpatch that was interrupted";
    for (const std::string& name : revert_steps(folder, journal)) done += "; what was edited is kept as " + name;
  } else {
    done = "took back a patch that was interrupted";
    bool finished = false;
    if (can_apply(folder, journal)) try {
        apply_steps(folder, journal);
        finished = true;
        done = "finished a patch that was interrupted";
      } catch (const Error&) {
      }
    if (!finished) undo_steps(folder, journal);
  }
  close_journal(folder);
  return done;
}

Applied apply_change(const std::filesystem::path& directory, const DirectoryChange& change, const StepHook& hook) {
  const DirectoryLock lock(directory);
  ModelFolder folder(directory, hook);
  require_nothing_left(folder);
  ChangePlan plan(folder, change);
  const Applied applied = plan.applied();
  if (!applied.changed) return applied;
  close_journal(folder);  // what was only prepared
  bool journaled = false;
  try {
    plan.stage();
    write_journal(folder, plan.journal());
    journaled = true;
    apply_steps(folder, plan.journal());
  } catch (...) {
    try {
      if (journaled) undo_steps(folder, plan.journal());
      close_journal(folder);
    } catch (const Error&) {  // the next command undoes it
    }
    throw;
  }
  try {
    close_journal(folder);
  } catch (const Error&) {
    throw;
  } catch (...) {  // too late to stop: it is in place
    close_journal(folder);
  }
  return applied;
}

Reverted revert_change(const std::filesystem::path& directory, const StepHook& hook) {
  const DirectoryLock lock(directory);
  ModelFolder folder(directory, hook);
  require_nothing_left(folder);
  const Journal journal = plan_revert(folder);
  Reverted reverted;
  for (const JournalFile& file : journal.files)
    if (!file.from.empty())
      reverted.restored.push_back(file.path);
    else if (file.path != kRecordPath && file.path != kPinPath && folder.look(file.path).kind != EntryKind::absent)
      reverted.removed.push_back(file.path);
  std::sort(reverted.restored.begin(), reverted.restored.end());
  std::sort(reverted.removed.begin(), reverted.removed.end());
  close_journal(folder);
  if (journal.files.empty()) return reverted;
  try {
    folder.make_folder(kTilewrightFolder);
    write_journal(folder, journal);
  } catch (const Error&) {
    if (folder.look(kJournalPath).kind == EntryKind::absent) close_journal(folder);
    throw;
  }
  reverted.kept = revert_steps(folder, journal);
  close_journal(folder);
  return reverted;
}

}  // namespace tilewright::hub

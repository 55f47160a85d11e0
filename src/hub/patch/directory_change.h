// Changes of several files of a directory as one: killed at any point, the next command finishes or undoes them.
//
// Order on disk, each step flushed: new contents under .tilewright/new/; .tilewright/journal.json (from here on the
// change will be finished, before that it never was); for each file a backup (a hard link of the original, a copy where
// links cannot be; a symbolic link is kept as a link), then a rename into place: record and pin first, config.json
// last; the journal goes. What cannot be finished (a full disk, a lost file) is undone, config.json first.
//
// Every folder on the way is opened without following links. The directory's own flock keeps two commands apart, so no
// lock file is left.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hub/patch/patch_record.h"
#include "hub/patch/pin.h"

namespace tilewright::hub {

struct DirectoryChange {
  std::map<std::string, std::string> write;           // path → contents; small files; the original's mode stays
  std::map<std::string, std::filesystem::path> copy;  // path → a file to copy from, mode included
  std::optional<Pin> pin;       // where it names files of `write` and `copy`, their hashes are filled in
  std::string overlay_of = {};  // of an overlay: the model's directory; no backups are made
};

// Called before each step that changes the disk; tests kill the process there. What it throws ends the command as an
// error does: what was begun is taken back.
using StepHook = std::function<void(const std::string& step)>;

// Held from the first look at a directory to the last change of it. The functions below take it themselves; who holds
// it (in the same thread) may call them. Waits half a minute for another process, then throws Error.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int fd_ = -1;
};

// Whether a killed command left something to finish or undo. Writes nothing.
bool left_unfinished(const std::filesystem::path& directory);
// Finishes or undoes it. What it did, in one line for people; empty if there was nothing.
std::string recover_directory(const std::filesystem::path& directory, const StepHook& hook = {});

struct Applied {
  PatchRecord record;  // as it is now; of an earlier patch, too: a second one adds to the first
  std::vector<std::string>
      kept;              // files that somebody edited after an earlier patch: theirs are kept under these names
  bool changed = false;  // false: all was so already, and nothing was written
};
// Nothing must be left to recover. Links are replaced, never written through; a file that holds its new bytes already
// is left alone. Throws Error; then nothing has changed (also on a full disk) or the next command finishes or undoes
// it: a path that may not be patched, is a folder, or passes a link or a file; one that holds an original.
Applied apply_change(const std::filesystem::path& directory, const DirectoryChange& change, const StepHook& hook = {});
struct Reverted {
  std::vector<std::string> restored, removed;  // paths
  std::vector<std::string> kept;  // files that were edited after the patch are kept under these names, "PATH.edited"
};
// Everything as it was before the first patch: bytes, modes, times, links as links; no backup of ours, no .tilewright,
// no folder that the patch made and that is empty. What else lies there stays. PyPTO-Gym's backups are put back, also
// where we never patched. Throws Error for a lost backup and for a folder in a file's place, before anything is
// changed.
Reverted revert_change(const std::filesystem::path& directory, const StepHook& hook = {});

}  // namespace tilewright::hub

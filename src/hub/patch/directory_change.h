// Changes of several files of a directory as one: killed at any point, the next command finishes or undoes them.
//
// Order on disk, each step flushed: new contents under .tilewright/new/; .tilewright/journal.json (from here on the
// change will be finished, before that it never was); backups (hard links of the originals, copies where links cannot
// be; a symbolic link is kept as a link); record and pin; renames into place, config.json last; the journal goes.
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
  std::map<std::string, std::string> write;           // path → contents; small files
  std::map<std::string, std::filesystem::path> copy;  // path → a file to copy from, mode included
  std::optional<Pin> pin;                             // hashes of written files are filled in
};

// Called before each step that changes the disk; tests kill the process there.
using StepHook = std::function<void(const std::string& step)>;

// Finishes or undoes what a killed command left. What it did, in one line for people; empty if there was nothing.
std::string recover_directory(const std::filesystem::path& directory, const StepHook& hook = {});
// Nothing must be left to recover. Links are replaced, never written through. Throws Error; then nothing has changed
// (also on a full disk) or the next command finishes it.
PatchRecord apply_change(const std::filesystem::path& directory, const DirectoryChange& change,
                         const StepHook& hook = {});
struct Reverted {
  std::vector<std::string> restored, removed;  // paths
  std::vector<std::string> kept;  // files that were changed after the patch: theirs are kept as PATH.new…
};
// Everything as it was before the first patch: bytes, modes, times, links as links; no backup of ours, no .tilewright,
// no folder that the patch made and that is empty. What else lies there stays.
Reverted revert_change(const std::filesystem::path& directory, const StepHook& hook = {});

}  // namespace tilewright::hub

// .tilewright/journal.json: what a command was about to do to a model's directory, enough to finish or undo it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "hub/patch/model_folder.h"

namespace tilewright::hub {

// One path's way from what stands there to what comes.
struct JournalFile {
  std::string path;
  std::string from;    // what comes: a file under .tilewright/new/, or a backup (revert); empty: the path goes (revert)
  std::string sha256;  // apply: of what comes
  std::string was;     // identity (ModelFolder) of what stood there; empty: nothing. Revert: of what the patch wrote
  std::string keep;    // apply: the name under which what stood there is kept, a backup or under .tilewright/old/
};

struct Journal {
  enum class Action { apply, revert } action = Action::apply;
  std::vector<JournalFile> files;    // in the order of work
  std::vector<std::string> folders;  // apply: to make, outer ones first; revert: to remove if empty, deeper ones first
};

Json journal_json(const Journal& journal);
// Throws Error for a damaged one; it may come from elsewhere with the directory, so that no path may leave it.
Journal parse_journal(std::string_view text, const std::string& where);

// The steps below can be killed anywhere and begun again.

// Writes it durably; from then on the change is to be finished.
void write_journal(ModelFolder& folder, const Journal& journal);
// Whether everything that `apply` needs is there, and nothing that is not ours is in its way.
bool can_apply(const ModelFolder& folder, const Journal& journal);
void apply_steps(ModelFolder& folder, const Journal& journal);
void undo_steps(ModelFolder& folder, const Journal& journal);
// Returns the names under which files that somebody edited were kept.
std::vector<std::string> revert_steps(ModelFolder& folder, const Journal& journal);
// Takes away the journal, then what else it needed, and an empty .tilewright.
void close_journal(ModelFolder& folder);

// Whether there is anything for close_journal to take away.
bool has_leftovers(const ModelFolder& folder);

inline constexpr const char* kJournalPath = ".tilewright/journal.json";
inline constexpr const char* kRecordPath = ".tilewright/patch.json";
inline constexpr const char* kPinPath = ".tilewright/pin.json";
inline constexpr const char* kNewFolder = ".tilewright/new";
inline constexpr const char* kOldFolder = ".tilewright/old";

// "PATH.edited", "PATH.edited.2" …
std::string edited_name(const std::string& path, int attempt);

}  // namespace tilewright::hub

// `tilewright patch`: a model directory pinned to code that is here.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hub/fetch/hub_settings.h"
#include "hub/patch/directory_change.h"
#include "hub/patch/module_cache.h"

namespace tilewright::hub {

struct PatchRequest {
  std::filesystem::path model;
  std::string family = {};                           // --family; empty: config.json's model_type
  std::map<std::string, std::string> auto_map = {};  // --auto-map
  std::map<std::string, std::string> copy = {};      // --copy: DEST → SRC
  std::filesystem::path source_root = {};            // for SRC; empty: the current folder
  std::filesystem::path output_dir = {};             // an overlay there; empty: in place
  bool force = false;
};

// What is built in; told by the caller, since hub/ lies below models/.
struct Families {
  std::function<std::vector<std::string>()> names;                     // model types
  std::function<std::optional<std::string>(const std::string&)> find;  // any spelling → model type, if built in
};

struct PatchResult {
  std::filesystem::path path;  // the directory to use from now on
  Pin pin;
  std::vector<std::string> changed, added;     // files, as they differ from the publisher's
  std::vector<std::string> removed_auto_maps;  // "config.json: AutoModel → org/repo--modeling_x.XModel"
  std::vector<std::filesystem::path> cleared;  // caches of remote modules
  std::vector<std::string> notes;              // what an interrupted command left, foreign backups …
  bool nothing_to_do = false;                  // it was pinned exactly so already
};

// Sources are checked before anything is written. Throws Error: a family that is not built in (naming the nearest), a
// DEST that leaves the model, lies under .tilewright, is a folder, or passes a linked folder; a SRC that is no file; a
// model without config.json …
PatchResult patch_model(const PatchRequest& request, const Families& families, const std::string& version,
                        const Environment& environment, const StepHook& hook = {});

// A step hook for Ctrl-C: throws Interrupted when the flag is set, once, so that taking back goes through.
StepHook stop_when(const std::atomic<bool>& interrupted);

struct PatchStatus {
  bool patched = false, pinned = false, overlay = false, unfinished = false;
  Pin pin;
  std::vector<PatchedFile> changed, added;
  std::vector<PinDifference> differences;  // from the pin, and of copied files that it does not name
  std::vector<std::string> foreign;        // files with PyPTO-Gym's backups
  std::vector<std::string> damaged;        // what cannot be read of .tilewright, one line each
};
PatchStatus patch_status(const std::filesystem::path& model);  // writes nothing
// Of that, what the record alone says: patched, overlay, changed, added.
PatchStatus split_record(const PatchRecord& record);

struct UnpatchResult {
  std::vector<std::string> restored, removed, kept, notes;
  bool nothing_to_do = false;
};
// Throws Error for an overlay (it is to be deleted) and for a lost backup, before anything is changed.
UnpatchResult unpatch_model(const std::filesystem::path& model, const StepHook& hook = {});

}  // namespace tilewright::hub

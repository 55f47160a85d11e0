#include "hub/patch/patch.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "hub/interrupted.h"
#include "hub/patch/overlay.h"
#include "hub/patch/patch_plan.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

void require_writable(const fs::path& model, const char* fix) {
  if (::access(model.c_str(), W_OK) == 0) return;
  fail({.what = "the directory cannot be written to",
        .where = model.string(),
        .expected = "",
        .found = std::strerror(errno),
        .fix = fix});
}

// A damaged pin counts as none: patching writes a new one.
bool is_pinned_as(const fs::path& model, const Pin& pin) {
  try {
    const auto old = read_pin(model);
    return old && old->family == pin.family && old->version == pin.version && old->files == pin.files;
  } catch (const Error&) {
    return false;
  }
}

void list_files(const PatchRecord& record, PatchResult& result) {
  const PatchStatus status = split_record(record);
  for (const PatchedFile& file : status.changed) result.changed.push_back(file.path);
  for (const PatchedFile& file : status.added) result.added.push_back(file.path);
}

}  // namespace

PatchResult patch_model(const PatchRequest& request, const Families& families, const std::string& version,
                        const Environment& environment, const StepHook& hook) {
  const fs::path model = model_directory_of(request.model);
  const DirectoryLock lock(model);
  PatchResult result;
  if (std::string done = recover_directory(model, hook); !done.empty()) result.notes.push_back(std::move(done));
  PatchPlan plan = plan_patch(model, request, families, version);
  result.pin = *plan.change.pin;
  result.removed_auto_maps = std::move(plan.removed_auto_maps);
  for (std::string& note : plan.notes) result.notes.push_back(std::move(note));
  for (const std::string& file : foreign_backups(model))
    result.notes.push_back("PyPTO-Gym patched " + file + ": its backup counts as the original");

  fs::path used;  // as the user named it: transformers calls modules after that
  if (!request.output_dir.empty()) {
    const PatchRecord record = build_overlay(model, request.output_dir, plan.change, request.force, hook);
    used = fs::absolute(request.output_dir).lexically_normal();
    result.path = fs::canonical(request.output_dir);
    list_files(record, result);
  } else {
    used = fs::absolute(request.model).lexically_normal();
    result.path = model;
    const std::optional<PatchRecord> before = read_patch_record(model);
    const bool changes = !plan.change.write.empty() || !plan.change.copy.empty();
    if (before && !before->overlay_of.empty() && changes)
      fail({.what = "this is an overlay, which is built anew instead of patched",
            .where = model.string(),
            .expected = "",
            .found = "an overlay of " + before->overlay_of,
            .fix = "patch that model with --output-dir and --force, and all --auto-map and --copy that it needs"});
    if (before && !changes && is_pinned_as(model, result.pin)) {
      result.nothing_to_do = true;
      list_files(*before, result);
    } else {
      require_writable(model, "change its permissions, or leave it as it is and build an overlay: --output-dir DIR");
      const Applied applied = apply_change(model, plan.change, hook);
      list_files(applied.record, result);
      for (const std::string& file : applied.kept)
        result.notes.push_back("a file that was edited after the last patch is kept as " + file);
    }
  }
  result.cleared = clear_module_cache(modules_cache(environment), used, result.notes);
  return result;
}

StepHook stop_when(const std::atomic<bool>& interrupted) {
  return [&interrupted, stopped = false](const std::string&) mutable {
    if (stopped || !interrupted) return;
    stopped = true;
    throw Interrupted{};
  };
}

UnpatchResult unpatch_model(const fs::path& given, const StepHook& hook) {
  const fs::path model = model_directory_of(given);
  UnpatchResult result;
  const DirectoryLock lock(model);
  const bool unfinished = left_unfinished(model);
  const std::optional<PatchRecord> overlay = unfinished ? std::nullopt : read_patch_record(model);
  if (overlay && !overlay->overlay_of.empty())
    fail({.what = "this is an overlay: there is nothing to restore in it",
          .where = model.string(),
          .expected = "a model that was patched in place",
          .found = "an overlay of " + overlay->overlay_of,
          .fix = "delete the folder; the model itself was never changed"});
  const bool patched = fs::exists(fs::symlink_status(model / kTilewrightFolder));
  const bool foreign = !foreign_backups(model).empty();
  if (!patched && !foreign) {
    result.nothing_to_do = true;
    return result;
  }
  require_writable(model, "change its permissions");
  if (std::string done = recover_directory(model, hook); !done.empty()) result.notes.push_back(std::move(done));
  Reverted reverted = revert_change(model, hook);
  result.restored = std::move(reverted.restored);
  result.removed = std::move(reverted.removed);
  result.kept = std::move(reverted.kept);
  return result;
}

}  // namespace tilewright::hub

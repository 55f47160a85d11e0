#include "port/model_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hub/fetch/pull.h"
#include "hub/patch/patch.h"
#include "hub/patch/patch_record.h"
#include "hub/patch/pin.h"
#include "port/built_in_families.h"
#include "port/pull_progress.h"
#include "port/resolve_model.h"
#include "report/envelope.h"

namespace tilewright::port {
namespace {

namespace fs = std::filesystem;

fs::path whole_path(const fs::path& path) {
  std::error_code error;
  const fs::path out = fs::weakly_canonical(fs::absolute(path, error), error);
  return out.has_filename() ? out : out.parent_path();
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  const fs::path a = whole_path(inner), b = whole_path(outer);
  return std::mismatch(b.begin(), b.end(), a.begin(), a.end()).first == b.end();
}

// Modules that transformers cached are nobody's business here: no Python runs.
hub::Environment without_modules(const fs::path& overlay) {
  return [overlay](const std::string& name) -> std::optional<std::string> {
    if (name == "HF_MODULES_CACHE") return (overlay / hub::kTilewrightFolder / "no-modules").string();
    return hub::process_environment()(name);
  };
}

std::string pin_text(const hub::Pin& pin) {
  return (pin.family.empty() ? std::string("code of your own") : pin.family) + ", tilewright " + pin.version;
}

bool is_empty_place(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return true;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

// An overlay of this model that this program pinned, and that nobody changed since.
bool still_stands(const fs::path& overlay, const fs::path& model) {
  try {
    const auto record = hub::read_patch_record(overlay);
    const hub::PatchStatus status = hub::patch_status(overlay);
    if (!record || record->overlay_of.empty() || whole_path(record->overlay_of) != whole_path(model)) return false;
    if (!status.pinned || status.unfinished || status.pin.version != report::tool_version()) return false;
    for (const auto& file : fs::directory_iterator(model)) {
      const fs::path name = file.path().filename();
      if (name != hub::kTilewrightFolder && name.extension() != ".orig" && !fs::exists(overlay / name)) return false;
    }
    // The overlay's own check: of its links, and of its copies.
    return status.differences.empty() && status.damaged.empty();
  } catch (const Error&) {
  } catch (const fs::filesystem_error&) {
  }
  return false;
}

bool is_our_overlay(const fs::path& path) {
  try {
    const auto record = hub::read_patch_record(path);
    return record && !record->overlay_of.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ModelSource::ModelSource(const std::string& name, const std::string& where, const hub::Environment& environment)
    : name_(name), where_(where), environment_(environment) {
  if (const auto directory = local_directory(name, where)) {
    directory_ = *directory;
    model_name_ = port::model_name(directory_);
    return;
  }
  id_ = model_id(name);
  model_name_ = id_.id.substr(id_.id.find('/') + 1);
  const hub::LocalSnapshot snapshot = snapshot_here(id_, environment_);
  directory_ = snapshot.path;
  reason_ = snapshot.reason;
}

std::string ModelSource::describe() const {
  if (!is_repository()) return directory_.string();
  return directory_.empty() ? name_ + ": " + reason_ : directory_.string();
}

void ModelSource::require_here() const {
  if (directory_.empty()) resolve_model(name_, where_, environment_);
}

std::string ModelSource::no_pull() const {
  if (!is_repository()) return "not needed: a directory";
  return directory_.empty() ? "" : "not needed: complete in the cache, commit " + directory_.filename().string();
}

StepOutcome ModelSource::pull(const Progress::Output& bars, const std::atomic<bool>* interrupted) {
  const hub::HubSettings settings = hub::hub_settings(environment_);
  Progress::Output output = bars;
  if (!settings.progress) output.style = Progress::Style::off;
  PullProgress progress("pull " + id_.id, output);
  try {
    const hub::PullResult result =
        hub::pull(settings, {.id = id_.id, .revision = revision_of(id_), .allow = hub::model_file_patterns()}, progress,
                  {.interrupted = interrupted});
    directory_ = result.path;
    return {StepStatus::done, pull_outcome(result, 40)};
  } catch (const hub::Interrupted&) {
    return {StepStatus::interrupted, "what came is kept, the next run goes on from there", true};
  }
}

OverlayOutcome pin_model(const Program& program, const fs::path& model, const fs::path& overlay, bool reuse) {
  const hub::PatchStatus status = hub::patch_status(model);
  if (status.pinned) {
    const std::size_t count = status.differences.size();
    const std::string state =
        count == 0 ? "unchanged" : fmt::format("{} file{} since", count, count == 1 ? " differs" : "s differ");
    return {{StepStatus::done, fmt::format("pinned already: {}; {}", pin_text(status.pin), state)}, model};
  }
  if (lies_in(overlay, model))
    return {{StepStatus::skipped, "the folder of the report lies in the model, which must not change"}, model};
  if (reuse && still_stands(overlay, model))
    return {{StepStatus::reused, "the overlay of the run before stands: " + overlay.string()}, overlay};
  if (!is_empty_place(overlay) && !is_our_overlay(overlay))
    fail({.what = "something else lies where the overlay would go",
          .where = overlay.string(),
          .expected = "nothing, or the overlay of an earlier run",
          .found = "",
          .fix = "name another --output-dir, or leave the step out: --skip patch"});
  const hub::PatchResult result =
      hub::patch_model({.model = model, .output_dir = overlay, .force = true}, built_in_families(program.families),
                       report::tool_version(), without_modules(overlay));
  std::string detail = fmt::format("{}; overlay {}", pin_text(result.pin), result.path.string());
  if (!result.removed_auto_maps.empty())
    detail += fmt::format("; {} of remote code left out", result.removed_auto_maps.size());
  return {{StepStatus::done, detail}, result.path};
}

}  // namespace tilewright::port

#include <algorithm>

#include "base/error.h"
#include "hub/patch/patch.h"
#include "hub/patch/patch_plan.h"

namespace tilewright::hub {

namespace fs = std::filesystem;

namespace {

// The first line of an error: what is wrong and where.
std::string one_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

PatchStatus split_record(const PatchRecord& record) {
  PatchStatus out;
  out.patched = true;
  out.overlay = !record.overlay_of.empty();
  for (const PatchedFile& file : record.files) {
    std::error_code error;
    const bool was_there = out.overlay ? fs::exists(fs::symlink_status(fs::path(record.overlay_of) / file.path, error))
                                       : !file.backup.empty();
    (was_there ? out.changed : out.added).push_back(file);
  }
  return out;
}

PatchStatus patch_status(const fs::path& given) {
  const fs::path model = model_directory_of(given);
  PatchStatus out;
  std::vector<std::string> damaged;
  const auto look = [&](const auto& part) {
    try {
      part();
    } catch (const Error& error) {  // each is told, and hides nothing of the others
      damaged.push_back(one_line(error.what()));
    }
  };
  look([&] {
    if (const auto record = read_patch_record(model)) out = split_record(*record);
  });
  look([&] { out.unfinished = left_unfinished(model); });
  look([&] {
    const auto pin = read_pin(model);
    if (!pin) return;
    out.pinned = true;
    out.pin = *pin;
    out.differences = pin_differences(model);
  });
  for (const std::vector<PatchedFile>* files : {&out.changed, &out.added})
    for (const PatchedFile& file : *files)
      if (!out.pin.files.contains(file.path))
        if (const auto kind = file_difference(model / file.path, file.sha256))
          out.differences.push_back({file.path, *kind});
  out.foreign = foreign_backups(model);
  std::sort(damaged.begin(), damaged.end());
  damaged.erase(std::unique(damaged.begin(), damaged.end()), damaged.end());
  out.damaged = std::move(damaged);
  return out;
}

}  // namespace tilewright::hub

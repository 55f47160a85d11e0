// What a patch would do to a model directory, worked out and checked before anything is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hub/patch/patch.h"

namespace tilewright::hub {

struct PatchPlan {
  DirectoryChange change;  // only what differs from the directory as it is; with the pin
  std::vector<std::string> removed_auto_maps, notes;
};

// `model`: canonical. Throws Error as patch_model does.
PatchPlan plan_patch(const std::filesystem::path& model, const PatchRequest& request, const Families& families,
                     const std::string& version);

// The directory a user means: links resolved. Throws Error for what is no directory that can be read.
std::filesystem::path model_directory_of(const std::filesystem::path& given);

}  // namespace tilewright::hub

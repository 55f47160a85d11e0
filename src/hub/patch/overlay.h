// A directory of links to a model in which only changed files are real.
#pragma once

#include <filesystem>

#include "hub/patch/directory_change.h"

namespace tilewright::hub {

// Builds it beside `target` and puts it in place with one rename. A target that is not empty is an Error without
// `force`; one that is the model, holds it or lies in it always. The old target goes only when the new one is complete;
// what killed commands left beside it is taken away. Folders are real, files absolute links to what they finally are
// (blobs of a cache are linked by the model's own name, so that a later pull shows); backups and .tilewright of the
// model are left out.
PatchRecord build_overlay(const std::filesystem::path& model, const std::filesystem::path& target,
                          const DirectoryChange& change, bool force, const StepHook& hook = {});

}  // namespace tilewright::hub

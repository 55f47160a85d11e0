// From what a user calls a model to the directory it lies in. Nothing here uses the network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "hub/fetch/hub_settings.h"
#include "hub/fetch/pull.h"
#include "port/model_name.h"

namespace tilewright::port {

// The directory of that name; nothing if `name` is a repository's id ("org/name", "org/name@revision") and no
// directory. `where` names the source of the name in errors: "MODEL", "MODEL_PATH". Throws Error for what is neither,
// and for a directory that cannot be read.
std::optional<std::filesystem::path> local_directory(const std::string& name, const std::string& where);

// The same, or the complete snapshot of a repository in the hub's cache. Throws Error with the line to run if there is
// none.
std::filesystem::path resolve_model(const std::string& name, const std::string& where,
                                    const hub::Environment& environment = hub::process_environment());

// Whether `name` can only be a repository's: nothing of that name is on this disk.
bool names_repository(const std::string& name);
std::string revision_of(const ModelId& id);  // "main" if none is named
// Where a repository's files are in the hub's cache, or why they are not. Throws Error for a revision that is none and
// for variables that make no sense.
hub::LocalSnapshot snapshot_here(const ModelId& id, const hub::Environment& environment);

}  // namespace tilewright::port

// From what a user calls a model to the directory it lies in.
#pragma once

#include <filesystem>
#include <string>

namespace tilewright::port {

// `where` names the source of the name in errors: "MODEL", "MODEL_PATH". Throws Error if it is no directory that can be
// read; a published id ("org/name") that is not here is told what to do.
std::filesystem::path resolve_model(const std::string& name, const std::string& where);

// How a report calls it: the directory's own name, also for "." and "models/x/".
std::string model_name(const std::filesystem::path& directory);

}  // namespace tilewright::port

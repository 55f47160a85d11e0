// What `patch`, `patch --status` and `unpatch` say, for people and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "hub/patch/patch.h"

namespace tilewright::cli {

// Lines, each with its end.
std::string patch_text(const hub::PatchResult& result);
std::string status_text(const hub::PatchStatus& status, const std::string& model);
std::string unpatch_text(const hub::UnpatchResult& result, const std::string& model);

Json patch_result_json(const hub::PatchResult& result);
Json patch_status_json(const hub::PatchStatus& status, const std::string& model);
Json unpatch_result_json(const hub::UnpatchResult& result, const std::string& model);

// One line of JSON, whatever bytes the names in it are of.
std::string json_line(const Json& json);

}  // namespace tilewright::cli

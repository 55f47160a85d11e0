// `auto_map`: which Python classes transformers loads for a model, maybe from another repository.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

// Values are "module.Class" (a file of this directory) or "repository--module.Class" (code from elsewhere); tokenizers
// have pairs of these, with null for an absent one.
bool is_remote_code(const Json& auto_map_value);  // any part is "repository--…"

// The auto_map without remote values and with `set` (name → "module.Class"); null if nothing is left. A pair of which
// one part is remote keeps the other, with null. Throws Error if `old` is no object of strings and pairs.
Json patched_auto_map(const Json& old, const std::map<std::string, std::string>& set, const std::string& where);

// "configuration_x.py" for "configuration_x.XConfig": the files of this directory that an auto_map names (folders for
// dots before the class), sorted, each once.
std::vector<std::string> modules_of(const Json& auto_map);

// NAME=MODULE.CLASS of --auto-map. Throws Error for another form, a remote value, a module that is no Python name.
std::pair<std::string, std::string> parse_auto_map_flag(const std::string& text);

}  // namespace tilewright::hub

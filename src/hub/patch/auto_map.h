// `auto_map`: which Python classes transformers loads for a model, maybe from another repository.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

// Values are "module.Class" (a file of this directory) or "repository--module.Class" (code from elsewhere); tokenizers
// have pairs of these (slow, fast), with null for an absent one. Old tokenizer_config.json files have the pair of
// AutoTokenizer itself as `auto_map`.
bool is_remote_code(const Json& auto_map_value);  // any part is "repository--…"

// The auto_map without remote values and with `set` (name → "module.Class"; AutoTokenizer becomes a pair, the only form
// that transformers reads); null if nothing is left, the same value if nothing is remote or set. A pair of which one
// part is remote keeps the other, with null. Throws Error if `old` is no object of strings and pairs, and no pair.
Json patched_auto_map(const Json& old, const std::map<std::string, std::string>& set, const std::string& where);

// The same for the text of a config.json or tokenizer_config.json: all bytes outside its top-level auto_map stay.
struct AutoMapEdit {
  std::string text;                  // the given one if nothing changes
  std::vector<std::string> removed;  // "AutoModel → org/repo--modeling_x.XModel"
};
AutoMapEdit edit_auto_map(std::string_view text, const std::map<std::string, std::string>& set,
                          const std::string& where);

// "configuration_x.py" for "configuration_x.XConfig": the files of this directory that an auto_map names (folders for
// dots before the class), sorted, each once. What is no such value is passed over.
std::vector<std::string> modules_of(const Json& auto_map);

// NAME=MODULE.CLASS of --auto-map. Throws Error for another form, a remote value, a module that is no Python name.
std::pair<std::string, std::string> parse_auto_map_flag(const std::string& text);

}  // namespace tilewright::hub

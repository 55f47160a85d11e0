// .tilewright/pin.json: what code a model directory belongs to, and the hashes of the files that decide about it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tilewright::hub {

inline constexpr const char* kTilewrightFolder = ".tilewright";  // in a model's directory: ours alone

struct Pin {
  std::string family;                        // "qwen3"; empty: the user's own Python code, set with --auto-map
  std::string version;                       // of Tilewright
  std::map<std::string, std::string> files;  // name → sha256
};

Json pin_json(const Pin& pin);  // {"format": "tilewright-pin-1", "family", "version", "files": {name: sha256}}
// Nothing if the directory has none. Throws Error for a damaged one.
std::optional<Pin> read_pin(const std::filesystem::path& directory);

// Files of the directory that a pin names: config.json, *.safetensors.index.json, tokenizer files (tokenizer.json,
// tokenizer_config.json, vocab.json, merges.txt, tokenizer.model, special_tokens_map.json, added_tokens.json, chat
// templates), generation_config.json, and modules that auto_map names inside of it; sorted; those that exist.
std::vector<std::string> pinned_names(const std::filesystem::path& directory);

// Whether a file is one of these by its name alone (modules are not).
bool is_pinned_name(std::string_view name);

struct PinDifference {
  std::string file;
  enum class Kind { changed, missing, unreadable, added } kind = Kind::changed;  // added: named by auto_map since
};
std::string_view pin_difference_name(PinDifference::Kind kind);  // "changed", "missing" …
// Of one file from its hash; nothing if it is the same.
std::optional<PinDifference::Kind> file_difference(const std::filesystem::path& file, const std::string& sha256);
// What differs from the pin; empty if nothing does or there is no pin.
std::vector<PinDifference> pin_differences(const std::filesystem::path& directory);
// For who loads the model: one warning line, or empty. A damaged pin is a warning, too; never throws.
std::string pin_warning(const std::filesystem::path& directory);

}  // namespace tilewright::hub

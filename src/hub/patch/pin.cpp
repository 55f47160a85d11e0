#include "hub/patch/pin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/patch/model_file.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "tilewright-pin-1";
constexpr const char* kTemplates = "additional_chat_templates/";
constexpr const char* kPinned[] = {"config.json",       "generation_config.json",
                                   "tokenizer.json",    "tokenizer_config.json",
                                   "vocab.json",        "merges.txt",
                                   "tokenizer.model",   "special_tokens_map.json",
                                   "added_tokens.json", "chat_template.jinja",
                                   "chat_template.json"};
constexpr std::size_t kLargestPin = 16 << 20;

fs::path pin_file(const fs::path& directory) { return directory / kTilewrightFolder / "pin.json"; }

[[noreturn]] void damaged_pin(const fs::path& file, const std::string& found) {
  fail({.what = "the pin is damaged",
        .where = file.string(),
        .expected = std::string("an object of format ") + kFormat + " with family, version and files",
        .found = found,
        .fix = "run `tilewright patch` on the directory again"});
}

bool is_hex_sha256(const std::string& text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string differences_text(const std::vector<PinDifference>& differences) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> out;
  for (const PinDifference& d : differences) {
    if (out.size() == kMost) {
      out.push_back(fmt::format("{} more", differences.size() - kMost));
      break;
    }
    out.push_back(fmt::format("{} ({})", d.file, pin_difference_name(d.kind)));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

std::optional<PinDifference::Kind> file_difference(const fs::path& file, const std::string& sha256) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return PinDifference::Kind::missing;
  if (status.type() != fs::file_type::regular) return PinDifference::Kind::unreadable;
  try {
    if (sha256_of_file(file) == sha256) return std::nullopt;
    return PinDifference::Kind::changed;
  } catch (const Error&) {
    return PinDifference::Kind::unreadable;
  }
}

std::string_view pin_difference_name(PinDifference::Kind kind) {
  switch (kind) {
    case PinDifference::Kind::changed:
      return "changed";
    case PinDifference::Kind::missing:
      return "missing";
    case PinDifference::Kind::unreadable:
      return "unreadable";
    case PinDifference::Kind::added:
      return "added";
  }
  return "changed";
}

Json pin_json(const Pin& pin) {
  return {{"format", kFormat}, {"family", pin.family}, {"version", pin.version}, {"files", pin.files}};
}

std::optional<Pin> read_pin(const fs::path& directory) {
  const fs::path file = pin_file(directory);
  std::error_code error;
  const fs::file_type type = fs::status(file, error).type();
  if (type == fs::file_type::not_found) return std::nullopt;
  if (type == fs::file_type::none && error == std::errc::not_a_directory) return std::nullopt;
  if (type != fs::file_type::regular)
    damaged_pin(file, type == fs::file_type::none ? error.message() : "no regular file");
  const std::string content = read_text_file(file, kLargestPin);
  Json json;
  try {
    json = parse_json(content, file.string());
  } catch (const Error&) {
    damaged_pin(file, content.empty() ? "an empty file" : "no JSON");
  }
  const auto text = [&](const char* key) {
    const auto it = json.find(key);
    if (it == json.end() || !it->is_string()) damaged_pin(file, fmt::format("no text under \"{}\"", key));
    return it->get<std::string>();
  };
  if (!json.is_object()) damaged_pin(file, json_kind(json));
  if (const std::string format = text("format"); format != kFormat) damaged_pin(file, "format " + format);
  Pin pin{.family = text("family"), .version = text("version")};
  const auto files = json.find("files");
  if (files == json.end() || !files->is_object()) damaged_pin(file, "no object under \"files\"");
  for (const auto& [name, hash] : files->items()) {
    if (!stays_inside(name) || !hash.is_string() || !is_hex_sha256(hash.get<std::string>()))
      damaged_pin(file, fmt::format("\"files\" with {} under \"{}\"", json_kind(hash), name));
    pin.files.emplace(name, hash.get<std::string>());
  }
  return pin;
}

bool is_pinned_name(std::string_view name) {
  for (const char* known : kPinned)
    if (name == known) return true;
  if (name.starts_with(kTemplates) && name.ends_with(".jinja")) return true;
  return name.ends_with(".safetensors.index.json") && name.find('/') == std::string_view::npos;
}

std::vector<std::string> pinned_names(const fs::path& directory) {
  std::set<std::string> out;
  std::error_code error;
  const auto add = [&](std::string name) {
    // A pin is JSON, which cannot say other names.
    if (is_valid_utf8(name) && is_model_file(directory / name)) out.insert(std::move(name));
  };
  for (const std::string& folder : {std::string(), std::string(kTemplates)}) {
    const fs::directory_iterator end;
    for (fs::directory_iterator it(directory / folder, error); !error && it != end; it.increment(error))
      if (std::string name = folder + it->path().filename().string(); is_pinned_name(name)) add(std::move(name));
  }
  for (const std::string& module : named_modules(directory)) add(module);
  return {out.begin(), out.end()};
}

std::vector<PinDifference> pin_differences(const fs::path& directory) {
  const std::optional<Pin> pin = read_pin(directory);
  std::vector<PinDifference> out;
  if (!pin) return out;
  for (const auto& [name, sha256] : pin->files)
    if (const auto kind = file_difference(directory / name, sha256)) out.push_back({name, *kind});
  for (const std::string& module : named_modules(directory))
    if (!pin->files.contains(module) && is_model_file(directory / module))
      out.push_back({module, PinDifference::Kind::added});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  return out;
}

std::string pin_warning(const fs::path& directory) {
  try {
    const std::vector<PinDifference> differences = pin_differences(directory);
    if (differences.empty()) return {};
    return fmt::format("{} {} not what `tilewright patch` pinned: {}; if that is meant, patch the directory again",
                       differences.size() == 1 ? "a file" : fmt::format("{} files", differences.size()),
                       differences.size() == 1 ? "is" : "are", differences_text(differences));
  } catch (const std::exception& error) {
    std::string reason = error.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    return "the pin of this directory cannot be checked: " + reason;
  }
}

}  // namespace tilewright::hub

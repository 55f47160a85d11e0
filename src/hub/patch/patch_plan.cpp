#include "hub/patch/patch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/nearest.h"
#include "hub/patch/auto_map.h"
#include "hub/patch/copy_files.h"
#include "hub/patch/json_edit.h"
#include "hub/patch/model_file.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerKey = "AutoTokenizer";
constexpr const char* kOtherAutoMapFiles[] = {"preprocessor_config.json", "processor_config.json",
                                              "video_preprocessor_config.json"};

std::string family_or_fail(const std::string& name, const std::string& where, const Families& families) {
  if (const auto known = families.find(name)) return *known;
  const std::vector<std::string> names = families.names();
  const std::string near = nearest(name, names, 0.7);
  fail({.what = "this family of models is not built in" + (near.empty() ? "" : "; the nearest one is " + near),
        .where = where,
        .expected = fmt::format("one of {}", fmt::join(names, ", ")),
        .found = name.empty() ? "an empty name" : name,
        .fix = "for Python code of your own, name it: --auto-map AutoConfig=configuration_x.XConfig --copy …"});
}

// The files as they will be: those that the patch writes or copies, else the directory's.
struct FutureFiles {
  const fs::path& model;
  const DirectoryChange& change;

  bool has(const std::string& name) const {
    return change.write.contains(name) || change.copy.contains(name) || is_model_file(model / name);
  }
  std::string text(const std::string& name) const {
    if (const auto it = change.write.find(name); it != change.write.end()) return it->second;
    return read_model_text(path(name));
  }
  fs::path path(const std::string& name) const {
    const auto it = change.copy.find(name);
    return it != change.copy.end() ? it->second : model / name;
  }
  std::string sha256(const std::string& name) const {
    if (const auto it = change.write.find(name); it != change.write.end()) return sha256_of_text(it->second);
    return sha256_of_file(path(name));
  }
};

bool same_contents(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (!is_model_file(b) || fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  return fs::equivalent(a, b, error) || sha256_of_file(a) == sha256_of_file(b);
}

// What an earlier patch was told stays: the next one need not be told again. A damaged pin says nothing.
std::optional<std::string> family_pinned_before(const fs::path& model) {
  try {
    if (const auto pin = read_pin(model)) return pin->family;
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::string family_of(const fs::path& model, const PatchRequest& request, const Families& families,
                      const std::optional<Json>& model_type) {
  const std::string where = (model / "config.json").string();
  const std::string stated = model_type && model_type->is_string() ? model_type->get<std::string>() : "";
  const std::vector<std::string> names = families.names();
  const bool built_in = std::find(names.begin(), names.end(), stated) != names.end();
  if (!request.family.empty()) {
    const std::string family = family_or_fail(request.family, "--family", families);
    if (built_in && stated != family)
      fail({.what = "the model is of another family",
            .where = where,
            .expected = "model_type " + family + ", as --family says",
            .found = stated,
            .fix = "leave --family out"});
    return family;
  }
  if (built_in) return stated;
  if (const auto pinned = family_pinned_before(model)) return *pinned;
  if (!request.auto_map.empty() || !request.copy.empty()) return {};
  if (stated.empty())
    fail({.what = "the configuration names no family of models",
          .where = where,
          .expected = fmt::format("\"model_type\": one of {}", fmt::join(names, ", ")),
          .found = model_type ? json_kind(*model_type) : "no \"model_type\"",
          .fix = "name it with --family"});
  return family_or_fail(stated, where, families);
}

// Files of pictures and sounds, which no text model needs, are not changed; but whoever loads them should know.
void note_remote_code_elsewhere(const FutureFiles& files, std::vector<std::string>& notes) {
  for (const char* name : kOtherAutoMapFiles) try {
      if (!files.has(name)) continue;
      const auto auto_map = member_of(files.text(name), "auto_map", name);
      if (!auto_map) continue;
      for (const Json& value : auto_map->is_object() ? *auto_map : Json::array({*auto_map}))
        if (is_remote_code(value)) {
          notes.push_back(std::string(name) + " names code of another repository and stays as it is");
          break;
        }
    } catch (const Error&) {  // not ours to judge
    }
}

Pin pin_of(const FutureFiles& files, std::string family, const std::string& version,
           const std::vector<std::string>& modules) {
  std::set<std::string> names;
  const std::vector<std::string> old_modules = named_modules(files.model);
  for (std::string& name : pinned_names(files.model))
    if (is_pinned_name(name) || std::find(old_modules.begin(), old_modules.end(), name) == old_modules.end())
      names.insert(std::move(name));
  for (const std::string& module : modules)
    if (files.has(module)) names.insert(module);
  for (const auto& [name, text] : files.change.write) names.insert(name);
  for (const auto& [name, source] : files.change.copy)
    if (is_pinned_name(name) || name.ends_with(".py")) names.insert(name);
  // Python files that an earlier patch copied may be imported by those that auto_map names.
  if (const auto record = read_patch_record(files.model))
    for (const PatchedFile& file : record->files)
      if (file.path.ends_with(".py") && files.has(file.path)) names.insert(file.path);
  Pin pin{.family = std::move(family), .version = version};
  for (const std::string& name : names) pin.files[name] = files.sha256(name);
  return pin;
}

}  // namespace

fs::path model_directory_of(const fs::path& given) {
  std::error_code error;
  const fs::path model = fs::canonical(given, error);
  const auto complain = [&](const std::string& what, const std::string& found, const std::string& fix) {
    fail({.what = what,
          .where = given.empty() ? "\"\"" : given.string(),
          .expected = "MODEL: the directory of a model",
          .found = found,
          .fix = fix});
  };
  if (error) {
    const bool absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    complain(absent ? "no such directory" : "the directory cannot be used", absent ? "" : error.message(),
             absent ? "download the model first: `tilewright pull ORG/NAME`" : "");
  }
  if (!fs::is_directory(model, error)) complain("this is not a directory", "", "");
  if (::access(model.c_str(), R_OK | X_OK) != 0)
    complain("the directory cannot be read", std::strerror(errno), "check its permissions");
  return model;
}

PatchPlan plan_patch(const fs::path& model, const PatchRequest& request, const Families& families,
                     const std::string& version) {
  PatchPlan plan;
  DirectoryChange& change = plan.change;
  change.copy = checked_copies(model, request.copy, request.source_root);
  const FutureFiles files{model, change};
  if (!files.has("config.json"))
    fail({.what = "this is no model's directory: it has no config.json",
          .where = model.string(),
          .expected = "config.json",
          .found = "",
          .fix = "name the directory that `tilewright pull` printed"});

  const std::string config_name = (model / "config.json").string();
  const std::string family =
      family_of(model, request, families, member_of(files.text("config.json"), "model_type", config_name));

  std::vector<std::string> modules;
  for (const char* name : kAutoMapFiles) {
    if (!files.has(name)) continue;
    const bool tokenizer = std::string_view(name) == "tokenizer_config.json";
    std::map<std::string, std::string> set = request.auto_map;
    if (tokenizer) std::erase_if(set, [](const auto& entry) { return entry.first != kTokenizerKey; });
    const std::string where = (model / name).string(), text = files.text(name);
    AutoMapEdit edit = edit_auto_map(text, set, where);
    for (const std::string& removed : edit.removed)
      plan.removed_auto_maps.push_back(fmt::format("{}: {}", name, removed));
    if (const auto now = member_of(edit.text, "auto_map", where))
      for (std::string& module : modules_named_by(*now)) modules.push_back(std::move(module));
    if (edit.text != text) change.write[name] = std::move(edit.text);
  }
  for (const auto& [key, value] : request.auto_map)
    for (const std::string& module : modules_named_by(Json{{key, value}}))
      if (!files.has(module))
        fail({.what = "the module of --auto-map is not in the model",
              .where = fmt::format("--auto-map {}={}", key, value),
              .expected = (model / module).string(),
              .found = "no such file",
              .fix = fmt::format("copy it: --copy {}=PATH", module)});
  if (request.auto_map.contains(kTokenizerKey) && !files.has("tokenizer_config.json"))
    plan.notes.push_back("there is no tokenizer_config.json, where Python looks for AutoTokenizer");
  for (const std::string& module : std::set<std::string>(modules.begin(), modules.end()))
    if (!files.has(module)) plan.notes.push_back("auto_map names " + module + ", which is not here");

  note_remote_code_elsewhere(files, plan.notes);
  std::erase_if(change.copy, [&](const auto& entry) {
    return change.write.contains(entry.first) || same_contents(entry.second, model / entry.first);
  });
  change.pin = pin_of(files, family, version, modules);
  return plan;
}

}  // namespace tilewright::hub

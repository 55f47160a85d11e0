#include "hub/patch/module_cache.h"

#include <algorithm>
#include <optional>

#include "hub/fetch/cache_names.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> spellings(const std::string& name) {
  const std::string package = python_package_name(name);
  return package == name ? std::vector{name} : std::vector{name, package};
}

bool holds_path(const fs::path& folder, const fs::path& path) {
  const auto [end, at] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

}  // namespace

std::string python_package_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '.')
      out += "_dot_";
    else if (c == '-')
      out += "_hyphen_";
    else
      out += c;
  }
  return !out.empty() && out[0] >= '0' && out[0] <= '9' ? "_" + out : out;
}

std::vector<fs::path> module_cache_folders(const fs::path& modules_cache, const fs::path& given) {
  std::error_code error;
  const fs::path cache = fs::canonical(modules_cache, error);
  if (error) return {};
  const fs::path root = fs::canonical(cache / "transformers_modules", error);
  if (error || !holds_path(cache, root) || root == cache) return {};
  fs::path model = given.lexically_normal();
  if (!model.has_filename()) model = model.parent_path();
  const fs::path real = fs::weakly_canonical(model, error);

  std::vector<fs::path> out;
  const auto consider = [&](const fs::path& folder) {
    for (fs::path at = folder.parent_path(); at != root; at = at.parent_path())
      if (fs::symlink_status(at, error).type() != fs::file_type::directory) return;
    const fs::file_type type = fs::symlink_status(folder, error).type();
    if (type != fs::file_type::directory && type != fs::file_type::symlink) return;
    if (type == fs::file_type::directory && holds_path(folder, real)) return;
    if (std::find(out.begin(), out.end(), folder) == out.end()) out.push_back(folder);
  };
  for (const fs::path& directory : {model, real}) {
    const std::string name = directory.filename().string();
    if (name.empty() || name == "." || name == "..") continue;
    for (const std::string& spelling : spellings(name)) consider(root / spelling);
    const std::optional<SnapshotPlace> snapshot = snapshot_place(directory);
    if (!snapshot) continue;
    fs::path package = root;
    for (const fs::path& part : fs::path(snapshot->id)) package /= python_package_name(part.string());
    consider(root / snapshot->id / snapshot->commit);
    consider(package / snapshot->commit);
  }
  return out;
}

std::vector<fs::path> clear_module_cache(const fs::path& modules_cache, const fs::path& model,
                                         std::vector<std::string>& notes) {
  std::vector<fs::path> out;
  for (const fs::path& folder : module_cache_folders(modules_cache, model)) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error)
      notes.push_back("the cache of remote modules could not be removed: " + folder.string() + ": " + error.message());
    else
      out.push_back(folder);
  }
  return out;
}

}  // namespace tilewright::hub

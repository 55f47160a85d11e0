#include "hub/patch/foreign_backups.h"

#include <algorithm>

#include "base/error.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

// The name that a backup stands for, or empty.
std::string original_name(const std::string& name) {
  for (const std::string_view ending : {".pypto_orig", ".hf_orig"})
    if (name.size() > ending.size() && name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return {};
}

}  // namespace

std::vector<std::string> files_with_foreign_backups(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied, error);
       !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && it.depth() == 0 &&
        (it->path().filename() == kTilewrightFolder || it->path().filename() == ".git"))
      it.disable_recursion_pending();
    if (original_name(it->path().filename().string()).empty() || !it->is_regular_file(ignored)) continue;
    const std::string file = original_name(it->path().lexically_relative(directory).generic_string());
    if (foreign_backup(directory, file)) out.push_back(file);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> restore_foreign_backups(const fs::path& directory, const StepHook& hook) {
  std::vector<std::string> out = files_with_foreign_backups(directory);
  std::stable_partition(out.begin(), out.end(), [](const std::string& file) { return file != "config.json"; });
  for (const std::string& file : out) {
    const auto backup = foreign_backup(directory, file);
    if (!backup) continue;
    if (hook) hook("restore " + file);
    std::error_code error;
    fs::rename(directory / *backup, directory / file, error);
    if (error)
      fail({.what = "a file cannot be restored",
            .where = (directory / file).string(),
            .expected = "",
            .found = error.message(),
            .fix = "its original is " + (directory / *backup).string()});
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tilewright::hub

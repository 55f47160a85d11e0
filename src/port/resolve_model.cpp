#include "port/resolve_model.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace tilewright::port {
namespace {

// "org/name", as published models are called; also a usual relative path.
bool looks_like_an_id(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == name.size() || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' || c == '_' ||
                              c == '.';
                     }) &&
         std::count(name.begin(), name.end(), '/') == 1;
}

}  // namespace

std::filesystem::path resolve_model(const std::string& name, const std::string& where) {
  const std::filesystem::path path(name);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_directory(status)) {
    const bool exists = std::filesystem::exists(status);
    fail({.what = exists ? "this is not a directory" : "no such directory",
          .where = name,
          .expected = where + ": a directory with config.json and *.safetensors",
          .found = "",
          .fix = !exists && looks_like_an_id(name) ? "if this is a published model, download it first (`tilewright "
                                                     "pull` is not built yet; `hf download " +
                                                         name + " --local-dir DIR` does it), then name DIR"
                                                   : ""});
  }
  if (access(path.c_str(), R_OK | X_OK) != 0)
    fail({.what = "the directory cannot be read",
          .where = name,
          .expected = "",
          .found = "",
          .fix = "check its permissions"});
  return path;
}

std::string model_name(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::weakly_canonical(directory, error);
  if (error || whole.empty()) whole = directory;
  if (!whole.has_filename()) whole = whole.parent_path();
  return whole.filename().empty() ? "model" : whole.filename().string();
}

}  // namespace tilewright::port

#include "port/model_name.h"

#include <system_error>

namespace tilewright::port {

ModelId model_id(const std::string& name) {
  const std::size_t at = name.find('@');
  if (at == std::string::npos || at + 1 == name.size()) return {name, ""};
  return {name.substr(0, at), name.substr(at + 1)};
}

std::string model_name(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::weakly_canonical(directory, error);
  if (error || whole.empty()) whole = directory;
  if (!whole.has_filename()) whole = whole.parent_path();
  // …/models--org--name/snapshots/COMMIT
  const std::string repository = whole.parent_path().parent_path().filename().string();
  if (whole.parent_path().filename() == "snapshots" && repository.starts_with("models--"))
    return repository.substr(repository.rfind("--") + 2);
  return whole.filename().empty() ? "model" : whole.filename().string();
}

}  // namespace tilewright::port

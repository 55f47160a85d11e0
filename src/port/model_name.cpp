#include "port/model_name.h"

#include <system_error>

#include "hub/fetch/cache_names.h"

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
  if (const auto snapshot = hub::snapshot_place(whole)) return snapshot->id.substr(snapshot->id.find('/') + 1);
  return whole.filename().empty() ? "model" : whole.filename().string();
}

}  // namespace tilewright::port

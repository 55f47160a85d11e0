#include "port/resolve_model.h"

#include <unistd.h>

#include "base/error.h"
#include "base/shell_quote.h"
#include "hub/fetch/names.h"

namespace tilewright::port {
namespace {

// "org/name", as published models are called; also a usual relative path. A single word is more likely a directory that
// was mistyped, and is told so.
bool is_published_id(const std::string& id) { return hub::is_repository_id(id) && id.find('/') != std::string::npos; }

[[noreturn]] void refuse(const std::string& name, const std::string& where, bool exists) {
  fail({.what = exists ? "this is not a directory" : "no such directory",
        .where = name,
        .expected = where + ": a directory with config.json and *.safetensors, or a repository of the hub (ORG/NAME)",
        .found = "",
        .fix = ""});
}

}  // namespace

std::optional<std::filesystem::path> local_directory(const std::string& name, const std::string& where) {
  const std::filesystem::path path(name);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::is_directory(status)) {
    if (std::filesystem::exists(status)) refuse(name, where, true);
    if (is_published_id(model_id(name).id)) return std::nullopt;
    refuse(name, where, false);
  }
  if (access(path.c_str(), R_OK | X_OK) != 0)
    fail({.what = "the directory cannot be read",
          .where = name,
          .expected = "",
          .found = "",
          .fix = "check its permissions"});
  return path;
}

bool names_repository(const std::string& name) {
  std::error_code error;
  return !std::filesystem::exists(std::filesystem::symlink_status(name, error)) && is_published_id(model_id(name).id);
}

std::string revision_of(const ModelId& id) { return id.revision.empty() ? "main" : id.revision; }

hub::LocalSnapshot snapshot_here(const ModelId& id, const hub::Environment& environment) {
  hub::require_revision(revision_of(id));
  return hub::find_snapshot(hub::hub_settings(environment, ""), id.id, revision_of(id));
}

std::filesystem::path resolve_model(const std::string& name, const std::string& where,
                                    const hub::Environment& environment) {
  if (const auto directory = local_directory(name, where)) return *directory;
  const ModelId id = model_id(name);
  const hub::LocalSnapshot snapshot = snapshot_here(id, environment);
  if (!snapshot.path.empty()) return snapshot.path;
  const std::string revision = id.revision.empty() ? "" : " --revision " + shell_quoted(id.revision);
  fail({.what = "this model is not here",
        .where = name,
        .expected = where + ": a directory, or a repository that was pulled",
        .found = snapshot.reason,
        .fix = "eval \"$(tilewright pull " + id.id + revision + ")\", then this command again"});
}

}  // namespace tilewright::port

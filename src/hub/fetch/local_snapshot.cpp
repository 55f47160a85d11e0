#include "hub/fetch/local_snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "hub/fetch/names.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
using Status = PulledFile::Status;

constexpr std::size_t kNamesShown = 5;

// Files in the folder as they are; what tools keep beside them is left out.
std::vector<PulledFile> files_in(const fs::path& root, const NameFilter& filter) {
  std::vector<PulledFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator i(root, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().lexically_relative(root).generic_string();
    if (name == ".cache" || name == ".tilewright" || name == ".git") {
      if (i->is_directory(error)) i.disable_recursion_pending();
      continue;
    }
    std::error_code unreadable;
    if (!i->is_regular_file(unreadable) || !filter.takes(name)) continue;
    const std::uint64_t size = i->file_size(unreadable);
    if (!unreadable) files.push_back({.file = {.path = name, .size = size, .blob_id = {}}});
  }
  std::sort(files.begin(), files.end(),
            [](const PulledFile& a, const PulledFile& b) { return a.file.path < b.file.path; });
  return files;
}

std::vector<PulledFile> states_of(SnapshotFolder& folder, std::vector<RemoteFile> listing, const std::string& commit,
                                  const NameFilter& filter, bool plain) {
  std::vector<PulledFile> files;
  for (RemoteFile& file : listing) {
    if (!filter.takes(file.path) || is_name_of_records(file.path, plain)) continue;
    const SnapshotFolder::State state = folder.state(file, commit);
    const Status status = state == SnapshotFolder::State::missing   ? Status::to_fetch
                          : state == SnapshotFolder::State::patched ? Status::patched
                                                                    : Status::present;
    files.push_back({.file = std::move(file), .status = status});
  }
  return files;
}

void require_complete(const std::vector<PulledFile>& files, const fs::path& path, std::string_view why) {
  std::vector<std::string> missing;
  for (const PulledFile& pulled : files) {
    if (pulled.status == Status::to_fetch) missing.push_back(pulled.file.path);
  }
  if (missing.empty()) return;
  fail({.what = fmt::format("the snapshot on this disk is incomplete, and {}", why),
        .where = path.string(),
        .expected = fmt::format("{} files", files.size()),
        .found = fmt::format("{} missing: {}", missing.size(), some_names(missing)),
        .fix = "pull once with the network"});
}

// What find_snapshot asks for: the model's own files at the top of the repository. Optional files count where the
// repository has them.
bool model_needs(const std::string& path, bool has_index) {
  constexpr std::array<std::string_view, 8> named = {
      "config.json",         "generation_config.json", "tokenizer.json",          "tokenizer_config.json",
      "chat_template.jinja", "chat_template.json",     "special_tokens_map.json", "model.safetensors.index.json"};
  if (std::find(named.begin(), named.end(), path) != named.end()) return true;
  // A repository may keep its weights a second time, under other names.
  return matches_pattern(path, has_index ? "model-*.safetensors" : "*.safetensors") &&
         path.find('/') == std::string::npos;
}

// What loading would miss in a snapshot whose list older clients did not keep: they note revisions of snapshots that
// have a configuration alone, too.
std::vector<std::string> missing_without_list(const fs::path& snapshot) {
  std::vector<std::string> missing;
  const auto has = [&](const std::string& name) {
    std::error_code error;
    return fs::is_regular_file(snapshot / name, error);
  };
  if (!has("config.json")) missing.push_back("config.json");
  if (has("model.safetensors")) return missing;
  if (has("model.safetensors.index.json")) {
    try {
      const Json index = read_json_file(snapshot / "model.safetensors.index.json");
      std::set<std::string> shards;
      for (const Json& file : index.at("weight_map"))
        if (file.is_string() && unsafe_name_reason(file.get<std::string>()).empty()) shards.insert(file);
      for (const std::string& shard : shards)
        if (!has(shard)) missing.push_back(shard);
    } catch (const Json::exception&) {  // who loads it will say
    } catch (const Error&) {
    }
    return missing;
  }
  std::error_code error;
  for (fs::directory_iterator at(snapshot, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".safetensors" && has(at->path().filename())) return missing;
  missing.push_back("model.safetensors");
  return missing;
}

std::string incomplete_reason(SnapshotFolder& folder, const std::string& commit) {
  const std::optional<std::vector<RemoteFile>> listing = read_tree_file(folder.tree_file(commit));
  std::vector<std::string> missing;
  if (listing) {
    const bool has_index = std::any_of(listing->begin(), listing->end(), [](const RemoteFile& file) {
      return file.path == "model.safetensors.index.json";
    });
    for (const RemoteFile& file : *listing) {
      if (model_needs(file.path, has_index) && folder.state(file, commit) == SnapshotFolder::State::missing) {
        missing.push_back(file.path);
      }
    }
  } else {
    missing = missing_without_list(folder.path(commit));
  }
  if (missing.empty()) return {};
  return fmt::format("incomplete: {} {} missing", some_names(missing), missing.size() == 1 ? "is" : "are");
}

}  // namespace

std::string some_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesShown);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void tell_patched_files(const std::vector<PulledFile>& files, PullObserver& observer) {
  std::vector<std::string> names;
  for (const PulledFile& pulled : files) {
    if (pulled.status == Status::patched) names.push_back(pulled.file.path);
  }
  if (names.empty()) return;
  observer.note(fmt::format("{} patched and {}: {} (`tilewright unpatch` brings the publisher's files back)",
                            names.size() == 1 ? "this file is" : "these files are",
                            names.size() == 1 ? "stays as it is" : "stay as they are", some_names(names)));
}

PullResult take_from_disk(SnapshotFolder& folder, const PullRequest& request, const NameFilter& filter,
                          PullObserver& observer, std::string_view why) {
  const std::optional<std::string> commit = folder.known_commit(request.revision);
  std::error_code error;
  if (!commit || !fs::is_directory(folder.path(*commit), error)) {
    fail({.what = fmt::format("{} is not on this disk, and {}", request.id, why),
          .where = folder.path(commit.value_or("")).string(),
          .expected = fmt::format("a snapshot of revision \"{}\"", request.revision),
          .found = commit ? "no folder" : "a revision that was never pulled to here",
          .fix = "pull once with the network"});
  }
  PullResult result{.path = fs::absolute(folder.path(*commit)), .commit = *commit, .files = {}, .from_disk = true};
  if (std::optional<std::vector<RemoteFile>> listing = read_tree_file(folder.tree_file(*commit))) {
    result.files = states_of(folder, std::move(*listing), *commit, filter, !request.output_dir.empty());
    require_complete(result.files, result.path, why);
  } else {
    result.files = files_in(result.path, filter);
    observer.note(
        fmt::format("no list of {}'s files is on this disk: whether they are all there is not known", request.id));
  }
  if (result.files.empty()) {
    fail({.what = "no file is what was asked for",
          .where = result.path.string(),
          .expected = filter.describe(),
          .found = "no such file",
          .fix = "see the names with: tilewright pull " + request.id + " --dry-run"});
  }
  tell_patched_files(result.files, observer);
  return result;
}

LocalSnapshot find_snapshot(const HubSettings& settings, const std::string& id, const std::string& revision) {
  if (!is_repository_id(id)) return {.path = {}, .reason = "no repository id"};
  const std::unique_ptr<SnapshotFolder> folder = cache_folder(settings, id);
  const std::optional<std::string> commit = folder->known_commit(usual_revision(revision));
  if (!commit) {
    return {.path = {}, .reason = fmt::format("not in the cache {} (revision {})", settings.cache.string(), revision)};
  }
  const fs::path path = folder->path(*commit);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return {.path = {}, .reason = fmt::format("not in the cache {} (commit {})", settings.cache.string(), *commit)};
  }
  const std::string reason = incomplete_reason(*folder, *commit);
  if (!reason.empty()) return {.path = {}, .reason = reason};
  return {.path = fs::absolute(path), .reason = {}};
}

const std::vector<std::string>& model_file_patterns() {
  static const std::vector<std::string> patterns = {"*.json", "*.jinja", "*.safetensors", "*.model", "*.txt"};
  return patterns;
}

}  // namespace tilewright::hub

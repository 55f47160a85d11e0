#include "hub/fetch/pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "hub/fetch/hub_client.h"
#include "hub/fetch/local_snapshot.h"
#include "hub/fetch/name_filter.h"
#include "hub/fetch/names.h"
#include "hub/fetch/pull_plan.h"
#include "hub/fetch/pull_workers.h"
#include "hub/fetch/serial_observer.h"
#include "hub/fetch/snapshot_folder.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

struct WholeListing {
  std::string commit;
  std::vector<RemoteFile> files;
  bool is_new = true;  // not from trees/
};

// What trees/ keeps is enough if no file of the repository is missing in it: a commit never changes.
std::optional<std::vector<RemoteFile>> kept_listing(const SnapshotFolder& folder, const RepositoryInfo& info) {
  std::optional<std::vector<RemoteFile>> files = read_tree_file(folder.tree_file(info.commit));
  if (!files || info.siblings.empty()) return std::nullopt;
  const auto has = [&](const std::string& name) {
    const auto at = std::lower_bound(files->begin(), files->end(), name,
                                     [](const RemoteFile& file, const std::string& path) { return file.path < path; });
    return at != files->end() && at->path == name;
  };
  std::sort(files->begin(), files->end(), [](const RemoteFile& a, const RemoteFile& b) { return a.path < b.path; });
  if (!std::all_of(info.siblings.begin(), info.siblings.end(), has)) return std::nullopt;
  return files;
}

WholeListing ask_hub(HubClient& hub, const SnapshotFolder& folder, const PullRequest& request) {
  const RepositoryInfo info = hub.repository(request.id, request.revision);
  if (!request.force) {
    if (std::optional<std::vector<RemoteFile>> files = kept_listing(folder, info)) {
      return {.commit = info.commit, .files = std::move(*files), .is_new = false};
    }
  }
  return {.commit = info.commit, .files = hub.files(request.id, info.commit, info.siblings)};
}

std::vector<RemoteFile> filtered(const std::vector<RemoteFile>& files, const NameFilter& filter,
                                 const PullRequest& request, PullObserver& observer) {
  std::vector<RemoteFile> wanted;
  std::vector<std::string> left_out;
  for (const RemoteFile& file : files) {
    if (!filter.takes(file.path)) continue;
    if (is_name_of_records(file.path, !request.output_dir.empty()))
      left_out.push_back(file.path);
    else
      wanted.push_back(file);
  }
  if (!left_out.empty())
    observer.note(
        fmt::format("left out, since they would be taken for records of this directory: {}", some_names(left_out)));
  if (wanted.empty()) {
    fail({.what = files.empty() ? "the repository has no files" : "no file of the repository is asked for",
          .where = request.id,
          .expected = files.empty() ? "at least one file" : "a file name that fits " + filter.describe(),
          .found = fmt::format("{} files, none of which fits", files.size()),
          .fix = files.empty() ? "name another repository or revision"
                               : "see the names with: tilewright pull " + request.id + " --dry-run"});
  }
  return wanted;
}

// The hub did not answer; what is here may do.
PullResult do_without_hub(const Unreachable& trouble, SnapshotFolder& folder, const PullRequest& request,
                          const NameFilter& filter, PullObserver& observer) {
  if (request.force) throw trouble;
  try {
    PullResult result = take_from_disk(folder, request, filter, observer, "the hub cannot be reached");
    observer.note(
        fmt::format("warning: {}; using what is on this disk, commit {}", trouble.text().what, result.commit));
    return result;
  } catch (const Error& lacking) {
    ErrorText text = trouble.text();
    text.found += (text.found.empty() ? "" : "; ") + lacking.text().what +
                  (lacking.text().found.empty() ? "" : " (" + lacking.text().found + ")");
    throw Unreachable(std::move(text));
  }
}

PullResult carry_out_or_show(const HubSettings& settings, const PullRequest& request, const WholeListing& listing,
                             const NameFilter& filter, SnapshotFolder& folder, SerialObserver& observer,
                             const HttpClient::Options& http) {
  const auto stop_if_interrupted = [&] {
    if (http.interrupted != nullptr && *http.interrupted) throw Interrupted{};
  };
  const fs::path path = fs::absolute(folder.path(listing.commit));
  const bool in_cache = request.output_dir.empty();
  PullPlan plan =
      plan_pull(folder, filtered(listing.files, filter, request, observer), listing.commit,
                {.force = request.force, .keeps_blobs = in_cache, .copies_files = !in_cache || !settings.links},
                stop_if_interrupted);
  observer.listed(listing.commit, plan.files.size(), plan.bytes_to_fetch);
  tell_patched_files(plan.files, observer);
  if (!request.dry_run) {
    const fs::path& root = in_cache ? settings.cache : request.output_dir;
    if (const std::optional<std::uint64_t> free = free_space(root)) require_space(plan, folder, *free, root);
    if (listing.is_new) write_tree_file(folder.tree_file(listing.commit), listing.files);
    carry_out({.settings = settings,
               .id = request.id,
               .commit = listing.commit,
               .force = request.force,
               .workers = request.workers,
               .folder = folder,
               .observer = observer,
               .http = http},
              plan);
    stop_if_interrupted();
    folder.note_revision(request.revision, listing.commit);
  }
  return {.path = path, .commit = listing.commit, .files = std::move(plan.files), .from_disk = false};
}

}  // namespace

std::string_view pulled_status_name(PulledFile::Status status) {
  switch (status) {
    case PulledFile::Status::fetched:
      return "fetched";
    case PulledFile::Status::present:
      return "present";
    case PulledFile::Status::patched:
      return "patched";
    case PulledFile::Status::to_fetch:
      break;
  }
  return "to fetch";
}

PullResult pull(const HubSettings& settings, const PullRequest& as_asked, PullObserver& told,
                const HttpClient::Options& http) {
  SerialObserver observer(told);
  PullRequest request = as_asked;
  request.revision = usual_revision(request.revision);
  HttpClient::Options options = http;
  if (!options.waiting) options.waiting = [&](const std::string& text) { observer.note(text); };
  require_repository_id(request.id);
  require_revision(request.revision);
  const NameFilter filter(request.allow, request.ignore);
  const std::unique_ptr<SnapshotFolder> folder =
      request.output_dir.empty() ? cache_folder(settings, request.id)
                                 : plain_folder(request.output_dir, request.id, !request.dry_run, settings.cache);
  if (settings.offline) {
    if (request.force) {
      fail({.what = "files cannot be fetched again, HF_HUB_OFFLINE is set",
            .where = request.id,
            .expected = {},
            .found = {},
            .fix = "leave --force away, or unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE"});
    }
    return take_from_disk(*folder, request, filter, observer, "HF_HUB_OFFLINE is set");
  }
  HttpClient client(settings, options);
  HubClient hub(settings, client);
  WholeListing listing;
  try {
    listing = ask_hub(hub, *folder, request);
  } catch (const Unreachable& trouble) {
    return do_without_hub(trouble, *folder, request, filter, observer);
  }
  return carry_out_or_show(settings, request, listing, filter, *folder, observer, options);
}

}  // namespace tilewright::hub

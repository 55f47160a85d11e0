#include "hub/fetch/pull_plan.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>

#include "base/error.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
using Status = PulledFile::Status;

// Sizes come from a server: a sum may not fit.
std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

// Folders, metadata, locks, the last block of each file.
std::uint64_t space_beside(const PullPlan& plan) {
  std::uint64_t files = 0;
  for (const PullTask& task : plan.tasks) files += task.files.size();
  return (std::uint64_t{256} << 10) + files * (std::uint64_t{12} << 10);
}

Status status_of(SnapshotFolder& folder, const RemoteFile& file, const std::string& commit, bool force) {
  switch (folder.state(file, commit)) {
    case SnapshotFolder::State::patched:
      return Status::patched;
    case SnapshotFolder::State::present:
      return force ? Status::to_fetch : Status::present;
    case SnapshotFolder::State::missing:
      break;
  }
  return Status::to_fetch;
}

std::uint64_t held_by_partial_files(const PullPlan& plan, SnapshotFolder& folder) {
  std::uint64_t held = 0;
  for (const PullTask& task : plan.tasks) {
    if (!task.needs_body) continue;
    const RemoteFile& file = plan.files[task.files.front()].file;
    std::error_code error;
    const std::uint64_t size = fs::file_size(folder.partial_file(file), error);
    if (!error) held = saturated_sum(held, std::min<std::uint64_t>(size, file.size));
  }
  return held;
}

std::string gigabytes(std::uint64_t bytes) {
  return fmt::format("{} bytes ({:.2f} GB)", bytes, static_cast<double>(bytes) * 1e-9);
}

}  // namespace

PullPlan plan_pull(SnapshotFolder& folder, std::vector<RemoteFile> wanted, const std::string& commit,
                   const PlanWishes& wishes, const std::function<void()>& check) {
  PullPlan plan;
  plan.files.reserve(wanted.size());
  for (RemoteFile& file : wanted) {
    check();
    const Status status = status_of(folder, file, commit, wishes.force);
    plan.files.push_back({.file = std::move(file), .status = status});
  }
  std::unordered_map<std::string, std::size_t> task_of_content;
  for (std::size_t i = 0; i < plan.files.size(); i++) {
    if (plan.files[i].status != Status::to_fetch) continue;
    const RemoteFile& file = plan.files[i].file;
    const auto [place, is_new] = task_of_content.try_emplace(file.etag(), plan.tasks.size());
    if (is_new) plan.tasks.push_back({.files = {}, .needs_body = wishes.force || !folder.has_content(file)});
    plan.tasks[place->second].files.push_back(i);
  }
  if (!wishes.force) {
    for (const PulledFile& pulled : plan.files) {
      const auto place = task_of_content.find(pulled.file.etag());
      if (pulled.status != Status::present || place == task_of_content.end()) continue;
      plan.tasks[place->second].source = folder.path(commit) / pulled.file.path;
    }
  }
  for (const PullTask& task : plan.tasks) {
    const std::uint64_t size = plan.files[task.files.front()].file.size;
    if (task.needs_body && task.source.empty()) plan.bytes_to_fetch = saturated_sum(plan.bytes_to_fetch, size);
    const std::size_t copies =
        (wishes.keeps_blobs && task.needs_body ? 1 : 0) + (wishes.copies_files ? task.files.size() : 0);
    for (std::size_t i = 0; i < copies; i++) plan.bytes_to_store = saturated_sum(plan.bytes_to_store, size);
  }
  std::stable_sort(plan.tasks.begin(), plan.tasks.end(), [&](const PullTask& a, const PullTask& b) {
    return plan.files[a.files.front()].file.size > plan.files[b.files.front()].file.size;
  });
  return plan;
}

void require_space(const PullPlan& plan, SnapshotFolder& folder, std::uint64_t free, const fs::path& where) {
  if (plan.bytes_to_store == 0) return;
  const std::uint64_t beside = space_beside(plan);
  if (saturated_sum(plan.bytes_to_store, beside) <= free) return;
  const std::uint64_t held = std::min(held_by_partial_files(plan, folder), plan.bytes_to_store);
  const std::uint64_t needed = saturated_sum(plan.bytes_to_store - held, beside);
  if (needed <= free) return;
  fail({.what = "not enough space for the files that are missing",
        .where = where.string(),
        .expected = gigabytes(needed) + " free",
        .found = gigabytes(free),
        .fix = "make room, name another disk (HF_HUB_CACHE or --output-dir), or take fewer files (--allow-pattern)"});
}

std::optional<std::uint64_t> free_space(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  struct statvfs system {};
  if (statvfs(path.c_str(), &system) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
}

}  // namespace tilewright::hub

// What a pull has to do, known before any body is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hub/fetch/pull.h"
#include "hub/fetch/snapshot_folder.h"

namespace tilewright::hub {

// Files of one content: one of them is fetched, the others are made from it.
struct PullTask {
  std::vector<std::size_t> files;     // places in PullPlan::files, in order
  bool needs_body = true;             // else the content is on this disk already
  std::filesystem::path source = {};  // a file of that content, if there is one; checked when it is used
};

struct PullPlan {
  std::vector<PulledFile> files;     // those asked for, by name; status is present, patched or to_fetch
  std::vector<PullTask> tasks;       // largest first, so that no worker is left alone with the last one
  std::uint64_t bytes_to_fetch = 0;  // of bodies, partial files not deducted
  std::uint64_t bytes_to_store = 0;  // what the disk must have room for, likewise
};

struct PlanWishes {
  bool force = false;         // files that are present are fetched again
  bool keeps_blobs = false;   // a content is kept once, by its hash (the hub's cache) …
  bool copies_files = false;  // … and, or instead, each file has bytes of its own
};
// Asks `folder` for the state of each file; `check` is called between them and may throw.
PullPlan plan_pull(SnapshotFolder& folder, std::vector<RemoteFile> wanted, const std::string& commit,
                   const PlanWishes& wishes, const std::function<void()>& check);

// Throws Error if `free` bytes do not hold what the plan stores and a little more. What partial files hold already is
// only looked at if it matters. `where`: the folder, for the message.
void require_space(const PullPlan& plan, SnapshotFolder& folder, std::uint64_t free,
                   const std::filesystem::path& where);
// Bytes that this user may still write where `path` is or will be; nothing if the system does not say.
std::optional<std::uint64_t> free_space(std::filesystem::path path);

}  // namespace tilewright::hub

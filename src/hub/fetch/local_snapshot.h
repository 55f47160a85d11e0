// What is on this disk of a repository, without the network.
#pragma once

#include <string>
#include <string_view>

#include "hub/fetch/name_filter.h"
#include "hub/fetch/pull.h"
#include "hub/fetch/snapshot_folder.h"

namespace tilewright::hub {

// The result of a pull for which nothing is fetched. Throws Error if the revision is not known here, or something that
// `filter` takes is missing; `why`: "HF_HUB_OFFLINE is set", for messages. What no list (trees/) tells to be complete
// is taken with a note.
PullResult take_from_disk(SnapshotFolder& folder, const PullRequest& request, const NameFilter& filter,
                          PullObserver& observer, std::string_view why);

// The first few: "a, b, c and 7 more".
std::string some_names(const std::vector<std::string>& names);

// A note to `observer` if some of `files` are patched and therefore stay as they are.
void tell_patched_files(const std::vector<PulledFile>& files, PullObserver& observer);

}  // namespace tilewright::hub

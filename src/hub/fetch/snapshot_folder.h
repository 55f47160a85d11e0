// Where the files of a snapshot go: the hub's cache (blobs, links, refs, locks) or a plain directory with metadata.
// Both as huggingface_hub has them; what it wrote counts here, and the other way round.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/fetch/hub_settings.h"
#include "hub/fetch/listing.h"

namespace tilewright::hub {

class SnapshotFolder {
 public:
  virtual ~SnapshotFolder() = default;

  // Commits are given in lower case. The model's directory, whether it exists or not.
  virtual std::filesystem::path path(const std::string& commit) const = 0;
  virtual std::filesystem::path tree_file(const std::string& commit) const = 0;
  // The commit a revision was at the last time; nothing if that is not known.
  virtual std::optional<std::string> known_commit(const std::string& revision) const = 0;
  virtual void note_revision(const std::string& revision, const std::string& commit) = 0;  // best effort

  enum class State {
    present,  // right by name, size and what is recorded of it
    patched,  // `tilewright patch` made or changed it: stays
    missing,  // or of another content
  };
  // May hash a file of unknown origin (a plain directory); adopts it then by recording it.
  virtual State state(const RemoteFile& file, const std::string& commit) = 0;
  // Whether a body must be fetched: a cache may hold the blob of a file that its snapshot lacks.
  virtual bool has_content(const RemoteFile& file) const = 0;

  // Paths for the transfer; folders above exist afterwards.
  virtual std::filesystem::path lock_file(const RemoteFile& file) = 0;
  virtual std::filesystem::path partial_file(const RemoteFile& file) = 0;
  // Where a whole, checked partial file is renamed to.
  virtual std::filesystem::path content_file(const RemoteFile& file) = 0;
  // With the content in place: link (or copy) it into the snapshot, or write its metadata.
  virtual void admit(const RemoteFile& file, const std::string& commit) = 0;

  // Files in the folder that `tilewright patch` made or changed, sorted.
  virtual std::vector<std::string> patched_files(const std::string& commit) const = 0;
};

// $HF_HUB_CACHE/models--org--name. Nothing is written yet.
std::unique_ptr<SnapshotFolder> cache_folder(const HubSettings& settings, const std::string& id);
// A directory of the user's. Throws Error if it is something else than a folder or lies inside of a file. Nothing is
// written through a link in it: one in a file's place is replaced, one in a folder's is an Error. `id`: whose revisions
// are noted in it. Without `may_write` (dry runs) `state` and `note_revision` record nothing. `cache`: the hub's cache,
// where Python notes the revisions of directories; only read.
std::unique_ptr<SnapshotFolder> plain_folder(const std::filesystem::path& directory, const std::string& id = {},
                                             bool may_write = true, const std::filesystem::path& cache = {});

}  // namespace tilewright::hub

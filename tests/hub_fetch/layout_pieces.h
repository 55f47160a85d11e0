// What the tests of both layouts on disk share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/file_lock.h"
#include "hub/fetch/partial_file.h"
#include "hub/fetch/snapshot_folder.h"

namespace tilewright::hub {

inline const std::string kCommit(40, 'c'), kOther(40, 'd');

inline RemoteFile remote_file(const std::string& path, const std::string& text, bool lfs) {
  Digest git = git_blob_digest(text.size());
  git.update(text);
  return {.path = path, .size = text.size(), .blob_id = git.hex(), .sha256 = lfs ? sha256_of_text(text) : ""};
}

// As pulling does it.
inline void bring(SnapshotFolder& folder, const RemoteFile& file, const std::string& text,
                  const std::string& commit = kCommit) {
  const FileLock lock = FileLock::lock(folder.lock_file(file));
  if (!folder.has_content(file)) {
    PartialFile partial(folder.partial_file(file),
                        {.kind = file.sha256.empty() ? Digest::Kind::sha1 : Digest::Kind::sha256,
                         .hex = file.etag(),
                         .size = file.size});
    partial.restart();
    partial.append(std::as_bytes(std::span(text)));
    partial.publish(folder.content_file(file));
  }
  folder.admit(file, commit);
}

// Names that a repository may have: each must arrive under just this name.
inline const std::vector<std::string> kSafeNames = {"config.json",
                                                    ".gitattributes",
                                                    "a b/c d.txt",
                                                    "deep/er/and/deeper/x",
                                                    "\xe6\x97\xa5\xe6\x9c\xac/\xe8\xaa\x9e",
                                                    "...",
                                                    "-rf",
                                                    "*?[",
                                                    "$HOME",
                                                    std::string(255, 'n'),
                                                    "q/" + std::string(248, 'm'),
                                                    "x.metadata",
                                                    "x.lock",
                                                    "'\"",
                                                    "\xf0\x9f\x98\x80.json"};

}  // namespace tilewright::hub

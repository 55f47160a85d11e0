// The hub's API: which commit a revision is, and what files it has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/fetch/http_client.h"
#include "hub/fetch/listing.h"

namespace tilewright::hub {

class HubClient {
 public:
  HubClient(const HubSettings& settings, HttpClient& http) : settings_(settings), http_(http) {}

  // Throws Error in the user's words: no such repository or revision, private, gated, what X-Error-Message says (and
  // the request id); Unreachable.
  RepositoryInfo repository(const std::string& id, const std::string& revision);
  // All files of a commit, in pages. A listing that is not recursive (a mirror lost the query) is completed folder by
  // folder; whatever of `siblings` is still missing then is an Error. Pages must come from the endpoint's origin, or
  // from where the endpoint redirected to; links of a mirror to the official hub lead to the mirror again.
  std::vector<RemoteFile> files(const std::string& id, const std::string& commit,
                                const std::vector<std::string>& siblings);
  // Where a file's bytes are.
  std::string file_url(const std::string& id, const std::string& commit, const std::string& path) const;
  // The Error for an answer that is none of the expected ones, in words that tell what to do; Unreachable for one that
  // may pass later. `what`: "download of config.json"; `size`: of the file, if it is known.
  [[noreturn]] void refuse(const HttpAnswer& answer, const std::string& what, std::uint64_t size = 0) const;

 private:
  // One folder ("" is the root), all pages.
  void list_folder(const std::string& id, const std::string& commit, const std::string& folder, ListingPage& into);
  std::string next_address(const HttpAnswer& answer, const std::string& next) const;

  const HubSettings& settings_;
  HttpClient& http_;
};

}  // namespace tilewright::hub

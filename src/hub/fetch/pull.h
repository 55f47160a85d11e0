// A snapshot of a repository, complete and checked, or an Error.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/fetch/http_client.h"
#include "hub/fetch/hub_settings.h"
#include "hub/fetch/listing.h"

namespace tilewright::hub {

struct PullRequest {
  std::string id;
  std::string revision = "main";
  std::vector<std::string> allow = {}, ignore = {};  // patterns, name_filter.h
  std::filesystem::path output_dir = {};             // empty: the hub's cache
  int workers = 8;                                   // files at once
  bool dry_run = false;                              // writes nothing
  bool force = false;                                // fetch files again that are there (patched ones stay)
};

// What is told while it runs, from any thread, one call at a time.
class PullObserver {
 public:
  virtual ~PullObserver() = default;
  virtual void listed(const std::string& commit, std::size_t files, std::uint64_t bytes_to_fetch) {
    (void)commit, (void)files, (void)bytes_to_fetch;
  }
  // `held` of `size` bytes are on this disk now; the first call of a file says what an earlier run left.
  virtual void progress(const RemoteFile& file, std::uint64_t held) { (void)file, (void)held; }
  virtual void finished(const RemoteFile& file) { (void)file; }
  virtual void note(const std::string& text) { (void)text; }  // warnings and waits, one line each
};

struct PulledFile {
  RemoteFile file;
  enum class Status { fetched, present, patched, to_fetch } status = Status::present;  // to_fetch: dry run
  std::uint64_t received = 0;                                                          // bytes of bodies in this run
};
std::string_view pulled_status_name(PulledFile::Status status);  // "fetched", "present", "patched", "to fetch"

struct PullResult {
  std::filesystem::path path;  // the model's directory, absolute
  std::string commit;
  std::vector<PulledFile> files;  // those asked for, by name
  bool from_disk = false;         // offline or unreachable: what was here is complete
};

// Order: names checked, commit resolved, files listed (or read from trees/), filtered, states found, free space
// checked, bodies fetched by `workers` threads, files admitted, revision noted. Stops at the first Error: the other
// transfers end, what they hold stays for the next run. No pattern matching is an Error. Offline: no request at all; a
// snapshot that is not complete by trees/ is an Error naming what is missing; without trees/ what is there is taken
// with a note. Throws Error, Interrupted.
PullResult pull(const HubSettings& settings, const PullRequest& request, PullObserver& observer,
                const HttpClient::Options& http = {});

// The snapshot of a repository in the hub's cache, without the network: refs/, snapshots/, complete by trees/ for the
// files that running a model needs (config, weights, tokenizer, templates). Empty path and a reason if there is none.
struct LocalSnapshot {
  std::filesystem::path path;
  std::string reason;  // "not in the cache …", "incomplete: model.safetensors is missing"
};
LocalSnapshot find_snapshot(const HubSettings& settings, const std::string& id, const std::string& revision = "main");

// Patterns of the files that running a model needs; what `port` pulls.
const std::vector<std::string>& model_file_patterns();

}  // namespace tilewright::hub

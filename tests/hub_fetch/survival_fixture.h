// A model at a hub that a test makes misbehave, and a pull of it that must come out right or say why not.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "hub/fetch/snapshot_folder.h"
#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {

// Relative path → contents of all files below a folder, links followed; `.cache` left out.
inline std::map<std::string, std::string> contents_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code ignored;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (auto at = Walk(folder, ignored); at != Walk(); ++at) {
    if (at->path().filename() == ".cache") at.disable_recursion_pending();
    if (at->is_regular_file())
      files[at->path().lexically_relative(folder).generic_string()] = bytes_of_file(at->path());
  }
  return files;
}

// As long as it lives, this thread, and those it starts, may read all below `root` and write nothing.
class ReadOnly {
 public:
  explicit ReadOnly(const std::filesystem::path& root) : root_(root), was_(setfsuid(geteuid())) {
    set_modes(0555, 0444);
    if (was_ == 0) setfsuid(65534);  // root may write everywhere
  }
  ~ReadOnly() {
    setfsuid(static_cast<uid_t>(was_));
    set_modes(0755, 0644);
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;

 private:
  void set_modes(unsigned folders, unsigned files) const {
    namespace fs = std::filesystem;
    fs::permissions(root_, fs::perms(folders));
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      if (!entry.is_symlink()) fs::permissions(entry.path(), fs::perms(entry.is_directory() ? folders : files));
  }

  std::filesystem::path root_;
  int was_;
};

class SurvivalFixture : public PullFixture {
 protected:
  SurvivalFixture() { commit = server.serve(model()); }

  static constexpr const char* kWeights = "model.safetensors";

  // A configuration, a tokenizer in a folder (both by git), weights of 3 MB (LFS).
  static HubRepository model() {
    return {.id = "org/model",
            .files = {{.path = "config.json", .bytes = "{\"model_type\": \"qwen3\"}\n"},
                      {.path = "sub/deep/tokenizer.json", .bytes = std::string(70'000, 't')},
                      {.path = kWeights, .bytes = {}, .lfs = true, .made_size = 3'000'000}}};
  }
  static hub::RemoteFile weights() {
    return {.path = kWeights,
            .size = 3'000'000,
            .blob_id = std::string(40, '0'),
            .sha256 = HubServer::etag_of(model().files[2])};
  }

  hub::PullResult pull(const std::string& id = "org/model") {
    request.id = id;
    return hub::pull(settings, request, told, http);
  }
  // Pulls, and compares the folder with what was served.
  void expect_right(const HubRepository& repository = model()) {
    std::map<std::string, std::string> right;
    for (const HubFile& file : repository.files) right[file.path] = HubServer::bytes_of(file);
    try {
      EXPECT_TRUE(contents_of(pull(repository.id).path) == right) << "other files, or other bytes";
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << told.notes;
    }
  }
  // Pulls, which must fail; the message.
  std::string error_of(const std::string& id = "org/model") {
    try {
      pull(id);
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "no Error was thrown";
    return "";
  }
  int requests_of(const std::string& target_part) const {
    return static_cast<int>(PullFixture::requests_of(target_part));
  }
  // A rule for the second part of the weights: their first megabyte comes well, then the connection breaks.
  void add_after_break(Rule rule) {
    server.add_rule({.method = "GET", .target = kWeights, .times = 1, .drop_after = 1'000'000});
    rule.method = "GET", rule.target = kWeights;
    server.add_rule(std::move(rule));
  }
  bool has_file(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(hub::cache_folder(settings, "org/model")->path(commit) / name, ignored);
  }

  hub::HubSettings settings = PullFixture::settings();
  hub::HttpClient::Options http = options();
  hub::PullRequest request = {.id = {}, .workers = 3};
  std::string commit;
};

}  // namespace tilewright::test

// A hub, a cache of its own and a pull that does not wait long, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "hub/fetch/pull.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {

inline std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every file and folder below, by name; links are not followed.
inline std::vector<std::string> names_below(const std::filesystem::path& root) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(root)) return names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    names.push_back(entry.path().lexically_relative(root).generic_string());
  }
  return names;
}

class RecordingObserver final : public hub::PullObserver {
 public:
  void listed(const std::string&, std::size_t files, std::uint64_t bytes) override {
    listed_files = files;
    bytes_to_fetch = bytes;
  }
  void progress(const hub::RemoteFile&, std::uint64_t held) override {
    if (held > 0) any_progress = true;
  }
  void finished(const hub::RemoteFile& file) override { finished_files.push_back(file.path); }
  void note(const std::string& text) override { notes += text + "\n"; }

  std::size_t listed_files = 0;
  std::uint64_t bytes_to_fetch = 0;
  std::atomic<bool> any_progress = false;
  std::vector<std::string> finished_files;
  std::string notes;
};

class PullFixture : public ::testing::Test {
 public:
  PullFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "tw_pull_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root = name;
  }
  ~PullFixture() override {
    std::error_code error;
    std::filesystem::remove_all(root, error);
  }

  hub::HubSettings settings() const {
    hub::HubSettings settings;
    settings.endpoint = server.endpoint();
    settings.home = root / "home";
    settings.cache = root / "cache";
    return settings;
  }
  hub::HttpClient::Options options() {
    hub::HttpClient::Options options;
    options.retry.first_wait = std::chrono::milliseconds(1);
    options.retry.longest_wait = std::chrono::milliseconds(5);
    options.interrupted = &interrupted;
    return options;
  }
  hub::PullResult pull(const hub::PullRequest& request) { return hub::pull(settings(), request, told, options()); }
  // What pull throws, as it is shown; empty if nothing.
  std::string pull_error(const hub::PullRequest& request) {
    try {
      pull(request);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // Requests whose target has this in it.
  std::size_t requests_of(const std::string& target_part) const {
    std::size_t count = 0;
    for (const HubRequest& request : server.requests()) {
      count += request.target.find(target_part) != std::string::npos ? 1 : 0;
    }
    return count;
  }
  std::size_t body_requests() const { return requests_of("/resolve/"); }

  HubServer server;
  std::filesystem::path root;
  std::atomic<bool> interrupted = false;
  RecordingObserver told;
};

// A model of small files: two of git, two of LFS, in folders.
inline HubRepository small_repository() {
  return {.id = "org/model",
          .files = {{.path = "config.json", .bytes = R"({"model_type": "qwen3"})"},
                    {.path = "tokenizer.json", .bytes = "{}"},
                    {.path = "model.safetensors", .bytes = {}, .lfs = true, .made_size = 300000},
                    {.path = "extra/notes.txt", .bytes = "text\n"},
                    {.path = "extra/part.safetensors", .bytes = {}, .lfs = true, .made_size = 70000}}};
}

inline const HubFile& file_named(const HubRepository& repository, const std::string& path) {
  for (const HubFile& file : repository.files) {
    if (file.path == path) return file;
  }
  throw std::runtime_error("no such file: " + path);
}

// Every file that `repository` has lies below `path` with the right bytes.
inline void expect_whole(const HubRepository& repository, const std::filesystem::path& path) {
  for (const HubFile& file : repository.files) {
    EXPECT_TRUE(bytes_of_file(path / file.path) == HubServer::bytes_of(file)) << file.path;
  }
}

}  // namespace tilewright::test

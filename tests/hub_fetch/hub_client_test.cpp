// Revisions, listings and refusals.
#include "hub/fetch/hub_client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "hub_server/hub_server.h"

namespace tilewright::hub {
namespace {

using test::HubFile;
using test::HubServer;
using test::Rule;

class HubClientTest : public testing::Test {
 protected:
  HubClientTest() {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
      unsetenv(name);
    settings_.endpoint = server_.endpoint();
    options_.retry.first_wait = options_.retry.longest_wait = std::chrono::milliseconds(1);
    for (const char* path : {"config.json", "a/b/c/deep.json", "a/b/two.json", "a/one.json", "z/ü x.json"})
      files_.push_back({.path = path, .bytes = path});
    files_.push_back({.path = "model.safetensors", .bytes = "weights", .lfs = true});
    commit_ = server_.serve({.id = "org/name", .files = files_});
  }
  RepositoryInfo repository(const std::string& id = "org/name", const std::string& revision = "main") {
    HttpClient http(settings_, options_);
    return HubClient(settings_, http).repository(id, revision);
  }
  std::vector<RemoteFile> files() {
    HttpClient http(settings_, options_);
    HubClient hub(settings_, http);
    return hub.files("org/name", commit_, hub.repository("org/name", "main").siblings);
  }
  template <typename Call>
  std::string error_of(Call call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::string refusal(HttpAnswer answer, std::uint64_t size = 0) {
    HttpClient http(settings_, options_);
    return error_of([&] { HubClient(settings_, http).refuse(answer, "download of x", size); });
  }
  void expect_whole(const std::vector<RemoteFile>& found) {
    ASSERT_EQ(found.size(), files_.size());
    for (const HubFile& file : files_) {
      const auto at =
          std::find_if(found.begin(), found.end(), [&](const RemoteFile& f) { return f.path == file.path; });
      ASSERT_NE(at, found.end()) << file.path;
      EXPECT_EQ(at->size, file.bytes.size());
      EXPECT_EQ(at->etag(), HubServer::etag_of(file));
    }
  }

  HubServer server_;
  HubSettings settings_;
  HttpClient::Options options_;
  std::vector<HubFile> files_;
  std::string commit_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(HubClientTest, RevisionsBecomeCommits) {
  server_.serve({.id = "org/refs", .files = files_, .refs = {{"refs/pr/1", commit_}, {"v1", commit_}}});
  EXPECT_EQ(repository().commit, commit_);
  EXPECT_EQ(repository("org/name", commit_).commit, commit_);
  EXPECT_EQ(repository("org/refs", "v1").commit, commit_);
  EXPECT_EQ(repository("org/refs", "refs/pr/1").commit, commit_);
  EXPECT_TRUE(has(server_.requests().back().target, "/revision/refs%2Fpr%2F1"));
  EXPECT_EQ(repository().siblings.size(), files_.size());
}

TEST_F(HubClientTest, ListsAllPages) {
  for (const int size : {1, 2, 1000}) {
    server_.page_size = size;
    expect_whole(files());
  }
}

TEST_F(HubClientTest, FileAddressesAreEncoded) {
  HttpClient http(settings_, options_);
  EXPECT_EQ(HubClient(settings_, http).file_url("org/name", "c", "z/ü x.json"),
            settings_.endpoint + "/org/name/resolve/c/z/%C3%BC%20x.json");
}

// A mirror redirects and loses "?recursive=true": what it lists is the top only.
TEST_F(HubClientTest, ListingThatLostItsQueryIsCompleted) {
  const std::string tree = "/api/models/org/name/tree/" + commit_;
  server_.add_rule({.target = tree + "?recursive=true", .times = -1, .status = 308, .redirect = tree});
  for (const char* folder : {"/a", "/a/b", "/a/b/c", "/z"})
    server_.add_rule(
        {.target = tree + folder + "?recursive=true", .times = -1, .status = 308, .redirect = tree + folder});
  expect_whole(files());
}

// It leads to another server, whose pages are its own; the token stays behind.
TEST_F(HubClientTest, ListingOfAMirrorThatRedirects) {
  settings_.token = "hf_hidden";
  server_.page_size = 2;
  const std::string tree = "/api/models/org/name/tree/" + commit_ + "?recursive=true";
  std::string other = server_.endpoint();
  other.replace(other.find("127.0.0.1"), 9, "localhost");
  server_.add_rule({.target = tree, .status = 308, .redirect = other + tree + "&moved=1"});
  server_.add_rule(
      {.target = "moved=1", .headers = {{"Link", "<" + other + tree + "&limit=2&cursor=2>; rel=\"next\""}}});
  expect_whole(files());
  for (const auto& request : server_.requests())
    EXPECT_EQ(request.headers.count("authorization"), request.headers.at("host").rfind("localhost", 0) == 0 ? 0u : 1u);
}

TEST_F(HubClientTest, ListingThatCannotBeCompletedIsRefused) {
  const std::string entry =
      "{\"type\":\"file\",\"path\":\"config.json\",\"size\":11,\"oid\":\"" + HubServer::etag_of(files_[0]) + "\"}";
  server_.add_rule({.target = "/tree/", .times = -1, .status = 200, .body = "[" + entry + "]"});
  const std::string error = error_of([&] { files(); });
  EXPECT_TRUE(has(error, "lacks 5 of the repository's 6 files")) << error;
  EXPECT_TRUE(has(error, "recursive=true")) << error;
  EXPECT_TRUE(has(error, "a/b/two.json")) << error;
}

TEST_F(HubClientTest, PagesOfOtherServersAreRefused) {
  const auto page = [&](const std::string& next) {
    server_.clear_rules();
    server_.add_rule({.target = "recursive=true", .headers = {{"Link", "<" + next + ">; rel=\"next\""}}});
    return error_of([&] { files(); });
  };
  const std::string path = "/api/models/org/name/tree/" + commit_;
  const std::vector<std::string> others = {
      "http://evil.test" + path + "?cursor=secret", "https://huggingface.co/evil?cursor=secret",
      "https://huggingface.co:8443" + path, "file:///etc/passwd", "http://localhost/x"};
  for (const std::string& next : others) {
    const std::string error = page(next);
    EXPECT_TRUE(has(error, "on another server")) << next << ": " << error;
    EXPECT_FALSE(has(error, "secret")) << error;
  }
  EXPECT_EQ(page(settings_.endpoint + path + "?cursor=1000"), "no error");
  EXPECT_TRUE(has(page(settings_.endpoint + path + "?recursive=true"), "circle"));
}

// A mirror that hands the official hub's links on.
TEST_F(HubClientTest, PagesOfTheOfficialHubLeadToTheMirror) {
  server_.page_size = 4;
  server_.add_rule({.target = "recursive=true",
                    .headers = {{"Link", "<https://huggingface.co/api/models/org/name/tree/" + commit_ +
                                             "?recursive=true&cursor=4%3D%3D>; rel=\"next\""}}});
  expect_whole(files());
  EXPECT_TRUE(has(server_.requests().back().target, "cursor=8") ||
              has(server_.requests().back().target, "cursor=4%3D%3D"));
}

TEST_F(HubClientTest, RefusalsTellWhatToDo) {
  std::string error = error_of([&] { repository("org/none"); });
  EXPECT_TRUE(has(error, "org/none does not exist")) << error;
  EXPECT_TRUE(has(error, "HF_TOKEN")) << error;
  EXPECT_TRUE(has(error, "401")) << error;
  error = error_of([&] { repository("org/name", "nope"); });
  EXPECT_TRUE(has(error, "no such revision")) << error;
  EXPECT_TRUE(has(error, "--revision")) << error;

  settings_.token = "hf_hidden";
  server_.add_rule({.target = "/revision/",
                    .status = 404,
                    .headers = {{"X-Error-Code", "RepoNotFound"},
                                {"X-Error-Message", "no hf_hidden\x1b[31m here " + std::string(5000, 'x')},
                                {"x-request-id", "Root=1-abc"}}});
  error = error_of([&] { repository(); });
  EXPECT_TRUE(has(error, "does not exist")) << error;
  EXPECT_TRUE(has(error, "Root=1-abc")) << error;
  EXPECT_FALSE(has(error, "hidden")) << error;
  EXPECT_FALSE(has(error, "\x1b")) << error;
  EXPECT_LT(error.size(), 1500u);

  server_.serve({.id = "org/gated", .files = files_, .gated = true});
  HttpClient http(settings_, options_);
  const auto end = http.get_body(settings_.endpoint + "/org/gated/resolve/" + commit_ + "/config.json", 0, {});
  error = refusal(end.answer);
  EXPECT_TRUE(has(error, "accept the terms at " + settings_.endpoint + "/org/gated")) << error;
}

TEST_F(HubClientTest, RefusalsByStatus) {
  HttpAnswer answer{.status = 401, .url = settings_.endpoint + "/org/name/resolve/c/x?Signature=hidden"};
  EXPECT_TRUE(has(refusal(answer), "org/name does not exist"));
  EXPECT_FALSE(has(refusal(answer), "hidden"));
  settings_.token = "hf_wrong";
  answer.headers.add("x-error-message", "Invalid credentials in Authorization header");
  EXPECT_TRUE(has(refusal(answer), "does not accept the token"));
  answer.status = 400;
  EXPECT_TRUE(has(refusal(answer, 465'000'000'000), "50 GB"));
  EXPECT_FALSE(has(refusal(answer, 1000), "50 GB"));
  answer.status = 403;
  answer.url = "https://cdn.test/x?Signature=hidden";
  EXPECT_TRUE(has(refusal(answer), "signed addresses expire"));
  answer.status = 503;
  HttpClient http(settings_, options_);
  EXPECT_THROW(HubClient(settings_, http).refuse(answer, "listing"), Unreachable);
  for (int status = 0; status < 600; ++status) {
    answer.status = status;
    EXPECT_TRUE(has(refusal(answer), "HTTP " + std::to_string(status)));
    EXPECT_TRUE(has(refusal(answer), "fix: "));
  }
}

TEST_F(HubClientTest, StillFailingAfterAllTriesIsUnreachable) {
  for (const int status : {429, 500, 503}) {
    server_.clear_rules();
    server_.add_rule({.target = "/tree/", .times = -1, .status = status});
    EXPECT_THROW(files(), Unreachable);
    server_.clear_rules();
    server_.add_rule({.target = "/tree/", .times = 3, .status = status});
    expect_whole(files());
  }
}

}  // namespace
}  // namespace tilewright::hub

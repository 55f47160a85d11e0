// The server that other tests trust answers as the hub does.
#include "hub_server/hub_server.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/json.h"
#include "hub_server/made_repositories.h"
#include "hub_server/raw_client.h"

namespace tilewright::test {
namespace {

HubRepository small_repository() {
  return {.id = "org/small",
          .files = {{.path = "config.json", .bytes = "hello\n"},
                    {.path = "sub/a file+x.txt", .bytes = "second"},
                    {.path = "sub/deep/empty.txt", .bytes = ""},
                    {.path = "model.safetensors", .bytes = std::string(5000, 'w'), .lfs = true}},
          .refs = {{"v1", std::string(40, 'a')}, {"refs/pr/1", std::string(40, 'b')}}};
}

// The paths of all pages, and how often one was asked for.
std::pair<std::vector<std::string>, int> listed(const HubServer& server, std::string target) {
  std::vector<std::string> paths;
  for (int pages = 1; pages < 10000; ++pages) {
    const RawAnswer answer = ask(server.endpoint(), "GET", target);
    EXPECT_EQ(answer.status, 200) << target;
    for (const Json& entry : parse_json(answer.body, target))
      paths.push_back(std::string(entry["type"] == "file" ? "" : "/") + std::string(entry["path"]));
    const auto link = answer.headers.find("link");
    if (link == answer.headers.end()) return {paths, pages};
    EXPECT_NE(link->second.find("rel=\"next\""), std::string::npos);
    const std::size_t from = 1 + server.endpoint().size();
    EXPECT_EQ(link->second.substr(1, from - 1), server.endpoint());
    target = link->second.substr(from, link->second.find('>') - from);
  }
  return {paths, 0};
}

TEST(HubServer, NamesFilesByTheHashesOfGitAndLfs) {
  EXPECT_EQ(HubServer::etag_of({.path = "a", .bytes = "hello\n"}), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(HubServer::etag_of({.path = "a", .bytes = "abc", .lfs = true}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HubServer, TellsCommitAndSiblingsOfEveryRevision) {
  HubServer server;
  const std::string commit = server.serve(small_repository());
  const std::pair<std::string, std::string> revisions[] = {{"", commit},
                                                           {"/revision/main", commit},
                                                           {"/revision/" + commit, commit},
                                                           {"/revision/v1", std::string(40, 'a')},
                                                           {"/revision/refs%2Fpr%2F1", std::string(40, 'b')}};
  for (const auto& [revision, sha] : revisions) {
    const RawAnswer answer = ask(server.endpoint(), "GET", "/api/models/org/small" + revision);
    ASSERT_EQ(answer.status, 200) << revision;
    const Json info = parse_json(answer.body, revision);
    EXPECT_EQ(info["sha"], sha) << revision;
    ASSERT_EQ(info["siblings"].size(), 4u);
    EXPECT_EQ(info["siblings"][1]["rfilename"], "sub/a file+x.txt");
  }
  EXPECT_EQ(
      parse_json(ask(server.endpoint(), "GET", "/api/models/org/small?blobs=true").body, "")["siblings"][3]["size"],
      5000);
  const RawAnswer wrong = ask(server.endpoint(), "GET", "/api/models/org/small/revision/v2");
  EXPECT_EQ(wrong.status, 404);
  EXPECT_EQ(wrong.headers.at("x-error-code"), "RevisionNotFound");
  EXPECT_FALSE(wrong.headers.at("x-request-id").empty());
}

TEST(HubServer, ListsFilesInPagesOfEverySize) {
  HubServer server;
  server.serve(small_repository());
  const std::vector<std::string> all = {
      "/sub", "/sub/deep", "config.json", "sub/a file+x.txt", "sub/deep/empty.txt", "model.safetensors"};
  for (const int size : {1, 2, 5, 6, 1000}) {
    server.page_size = size;
    const auto [paths, pages] = listed(server, "/api/models/org/small/tree/main?recursive=true");
    EXPECT_EQ(paths, all) << size;
    EXPECT_EQ(pages, (6 + size - 1) / size);
  }
  const std::vector<std::string> top = {"/sub", "config.json", "model.safetensors"},
                                 sub = {"/sub/deep", "sub/a file+x.txt"};
  EXPECT_EQ(listed(server, "/api/models/org/small/tree/main").first, top);
  EXPECT_EQ(listed(server, "/api/models/org/small/tree/main/sub").first, sub);
  EXPECT_EQ(ask(server.endpoint(), "GET", "/api/models/org/small/tree/main/none").headers.at("x-error-code"),
            "EntryNotFound");
}

TEST(HubServer, KnowsRepositoriesWithTheNamesOfItsOwnPaths) {
  HubServer server;
  for (const char* id : {"org/tree", "revision/revision", "resolve/resolve", "tree/main"}) {
    HubRepository repository = small_repository();
    repository.id = id;
    const std::string start = std::string("/api/models/") + id, commit = server.serve(repository);
    for (const std::string& target :
         {start, start + "/revision/main", start + "/tree/main?recursive=true", start + "/tree/" + commit + "/sub",
          "/" + std::string(id) + "/resolve/main/config.json"})
      EXPECT_EQ(ask(server.endpoint(), "GET", target).status, 200) << target;
  }
}

TEST(HubServer, ListsSizesAndHashes) {
  HubServer server;
  server.serve(small_repository());
  const Json page =
      parse_json(ask(server.endpoint(), "GET", "/api/models/org/small/tree/main?recursive=true").body, "");
  EXPECT_EQ(page[2]["oid"], "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(page[2]["size"], 6);
  EXPECT_FALSE(page[2].contains("lfs"));
  const HubFile weights = small_repository().files[3];
  EXPECT_EQ(page[5]["lfs"]["oid"], HubServer::etag_of(weights));
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:" + HubServer::etag_of(weights) + "\nsize 5000\n";
  EXPECT_EQ(page[5]["lfs"]["pointerSize"], pointer.size());
  EXPECT_EQ(page[5]["oid"], HubServer::etag_of({.path = "", .bytes = pointer}));
}

TEST(HubServer, SendsAFileAndEveryPartOfIt) {
  HubServer server;
  HubRepository repository = small_repository();
  repository.files.push_back({.path = "made.bin", .bytes = {}, .lfs = true, .made_size = 3'000'000});
  const std::string commit = server.serve(repository);
  for (const HubFile& file : repository.files) {
    std::string target = "/org/small/resolve/" + commit + "/" + file.path;
    if (const std::size_t space = target.find(' '); space != std::string::npos) target.replace(space, 1, "%20");
    const std::string bytes = HubServer::bytes_of(file);
    const RawAnswer whole = ask(server.endpoint(), "GET", target);
    EXPECT_EQ(whole.status, 200);
    EXPECT_TRUE(whole.body == bytes) << file.path;
    const RawAnswer head = ask(server.endpoint(), "HEAD", target);
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(bytes.size()));
    EXPECT_EQ(head.body, "");
    for (const RawAnswer* answer : {&whole, &head}) {
      EXPECT_EQ(answer->headers.at("etag"), "\"" + HubServer::etag_of(file) + "\"");
      EXPECT_EQ(answer->headers.at("x-repo-commit"), commit);
      EXPECT_EQ(answer->headers.count("x-linked-etag"), file.lfs ? 1u : 0u);
    }
    for (const std::size_t from : {std::size_t{0}, std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      if (from >= bytes.size()) continue;
      const RawAnswer part = ask(server.endpoint(), "GET", target, "Range: bytes=" + std::to_string(from) + "-\r\n");
      EXPECT_EQ(part.status, 206);
      EXPECT_TRUE(part.body == bytes.substr(from)) << file.path << " from " << from;
      EXPECT_EQ(part.headers.at("content-range"), "bytes " + std::to_string(from) + "-" +
                                                      std::to_string(bytes.size() - 1) + "/" +
                                                      std::to_string(bytes.size()));
    }
    const RawAnswer beyond =
        ask(server.endpoint(), "GET", target, "Range: bytes=" + std::to_string(bytes.size()) + "-\r\n");
    EXPECT_EQ(beyond.status, 416);
    EXPECT_EQ(beyond.headers.at("content-range"), "bytes */" + std::to_string(bytes.size()));
  }
  const std::string made = "/org/small/resolve/main/made.bin";
  const std::string bytes = HubServer::bytes_of(repository.files.back());
  EXPECT_TRUE(ask(server.endpoint(), "GET", made, "Range: bytes=10-1999999\r\n").body == bytes.substr(10, 1999990));
  EXPECT_TRUE(ask(server.endpoint(), "GET", made, "Range: bytes=-7\r\n").body == bytes.substr(2'999'993));
}

// What is at one place of a made file does not stand at other places that a confused client might take.
TEST(HubServer, MadeBytesDifferFromPlaceToPlaceAndFileToFile) {
  const std::string one = HubServer::bytes_of({.path = "a", .bytes = {}, .made_size = std::uint64_t{24} << 20});
  const std::string two = HubServer::bytes_of({.path = "b", .bytes = {}, .made_size = 100});
  EXPECT_NE(one.substr(0, 100), two);
  for (const std::size_t step : {4096u, 1u << 20, 2u << 20, 10u << 20})
    EXPECT_NE(one.substr(0, 100), one.substr(step, 100)) << step;
}

TEST(HubServer, RefusesAsTheHubDoes) {
  HubServer server;
  HubRepository closed = small_repository(), gated = small_repository();
  closed.id = "org/closed", closed.token = "hf_right";
  gated.id = "org/gated", gated.gated = true;
  server.serve(closed), server.serve(gated), server.serve(small_repository());
  const auto check = [&](const std::string& target, const std::string& token, int status, const std::string& code) {
    const RawAnswer answer =
        ask(server.endpoint(), "GET", target, token.empty() ? "" : "Authorization: Bearer " + token + "\r\n");
    EXPECT_EQ(answer.status, status) << target;
    EXPECT_EQ(answer.headers.count("x-error-code") ? answer.headers.at("x-error-code") : "", code) << target;
  };
  check("/api/models/org/none", "", 401, "RepoNotFound");
  check("/api/models/org/none", "hf_right", 404, "RepoNotFound");
  check("/api/models/org/closed", "", 401, "RepoNotFound");
  check("/api/models/org/closed/tree/main", "hf_wrong", 401, "RepoNotFound");
  check("/org/closed/resolve/main/config.json", "", 401, "RepoNotFound");
  check("/org/closed/resolve/main/config.json", "hf_right", 200, "");
  check("/api/models/org/gated", "", 200, "");
  check("/org/gated/resolve/main/config.json", "hf_right", 403, "GatedRepo");
  check("/org/small/resolve/main/none.json", "", 404, "EntryNotFound");
  check("/org/small/resolve/none/config.json", "", 404, "RevisionNotFound");
}

TEST(HubServer, CdnWantsItsQueryAsItIsAndNoToken) {
  HubServer server;
  server.cdn_for_lfs = true;
  const std::string commit = server.serve(small_repository());
  const std::string target = "/org/small/resolve/" + commit + "/model.safetensors";
  for (const char* method : {"HEAD", "GET"}) {
    const RawAnswer answer = ask(server.endpoint(), method, target, "Authorization: Bearer hf_x\r\n");
    EXPECT_EQ(answer.status, 302);
    EXPECT_EQ(answer.headers.at("x-linked-size"), "5000");
    EXPECT_EQ(answer.headers.at("x-linked-etag"), "\"" + HubServer::etag_of(small_repository().files[3]) + "\"");
    EXPECT_EQ(answer.headers.at("x-repo-commit"), commit);
    const std::string location = answer.headers.at("location"), cdn = server.cdn_endpoint();
    ASSERT_EQ(location.substr(0, cdn.size()), cdn);
    EXPECT_NE(cdn, server.endpoint());
    const std::string there = location.substr(cdn.size());
    EXPECT_EQ(ask(cdn, "GET", there).body, std::string(5000, 'w'));
    EXPECT_EQ(ask(cdn, "GET", there, "Range: bytes=4990-\r\n").body, std::string(10, 'w'));
    EXPECT_EQ(ask(cdn, "GET", there, "Authorization: Bearer hf_x\r\n").status, 400);
    std::string other = there;
    other.replace(other.find("%2F"), 3, "/");
    EXPECT_EQ(ask(cdn, "GET", other).status, 403);
    EXPECT_EQ(ask(cdn, "GET", there + "&a=b").status, 403);
    EXPECT_EQ(ask(cdn, "GET", there.substr(0, there.find('?'))).status, 403);
  }
  EXPECT_EQ(ask(server.endpoint(), "GET", "/org/small/resolve/main/config.json").status, 200);
  EXPECT_EQ(server.requests().back().to_cdn, false);
  EXPECT_EQ(server.requests()[1].to_cdn, true);
}

TEST(HubServer, TakesSeveralRequestsOfOneConnection) {
  HubServer server;
  server.serve(small_repository());
  const std::string one = "GET /org/small/resolve/main/config.json HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string last = "GET /org/small/resolve/main/config.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string all = send_raw(server.endpoint(), one + one + last);
  int count = 0;
  for (std::size_t at = all.find("\r\n\r\nhello\n"); at != std::string::npos; at = all.find("\r\n\r\nhello\n", at + 1))
    ++count;
  EXPECT_EQ(count, 3);
}

TEST(HubServer, EndsConnectionsThatSendNoRequest) {
  HubServer server;
  EXPECT_EQ(send_raw(server.endpoint(), "nonsense\r\n\r\n"), "");
  EXPECT_EQ(send_raw(server.endpoint(), std::string(100000, 'x')), "");
  EXPECT_EQ(ask(server.endpoint(), "POST", "/api/models/org/small").status, 405);
}

TEST(HubServer, CountsRequestsAndBytes) {
  HubServer server;
  server.serve(small_repository());
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      for (int turn = 0; turn < 5; ++turn)
        ask(server.endpoint(), "GET", "/org/small/resolve/main/model.safetensors", "X-Mine: yes\r\n");
    });
  for (auto& client : clients) client.join();
  EXPECT_EQ(server.requests().size(), 40u);
  EXPECT_EQ(server.requests()[7].headers.at("x-mine"), "yes");
  EXPECT_EQ(server.requests()[7].status, 200);
  EXPECT_EQ(server.body_bytes_sent("model.safetensors"), 40u * 5000);
  EXPECT_EQ(server.body_bytes_sent("config.json"), 0u);
  server.forget_requests();
  EXPECT_TRUE(server.requests().empty());
}

TEST(HubServer, StopsAtOnceAlsoInTheMiddleOfAnswers) {
  HubServer server;
  server.serve(small_repository());
  server.add_rule({.target = "config.json", .times = -1, .stall_ms = 60000});
  std::atomic<int> ended = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      EXPECT_EQ(ask(server.endpoint(), "GET", "/org/small/resolve/main/config.json").status, 0);
      ++ended;
    });
  while (server.requests().size() < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(ended, 0);
  server.stop();
  for (auto& client : clients) client.join();
  EXPECT_TRUE(refuses_connections(server.endpoint()));
  EXPECT_TRUE(refuses_connections(server.cdn_endpoint()));
}

TEST(MadeRepositories, AreAsTheyWereAskedFor) {
  const HubRepository made = made_repository("org/name:8x2KiB");
  ASSERT_EQ(made.files.size(), 9u);
  EXPECT_EQ(made.id, "org/name");
  EXPECT_EQ(made.files[8].path, "model-00008-of-00008.safetensors");
  EXPECT_EQ(made.files[8].made_size, 2048u);
  std::set<std::string> paths;
  for (const HubFile& file : made_tree("org/name:1000").files) paths.insert(file.path);
  EXPECT_EQ(paths.size(), 1000u);
  for (const char* wrong : {"org/name", "org/name:", "org/name:x2KiB", "org/name:0x2KiB", "org/name:8x2KB"})
    EXPECT_ANY_THROW(made_repository(wrong)) << wrong;
}

}  // namespace
}  // namespace tilewright::test

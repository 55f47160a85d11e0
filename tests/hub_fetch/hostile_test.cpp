// What a stranger's repository may hold that is meant for us rather than for the model.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

class HostilePull : public PullFixture, public ::testing::WithParamInterface<bool> {
 public:
  HostilePull() : request{.id = "org/model", .output_dir = GetParam() ? root / "model" : fs::path()} {}
  hub::PullRequest request;
};
INSTANTIATE_TEST_SUITE_P(Layouts, HostilePull, ::testing::Values(false, true),
                         [](const auto& layout) { return layout.param ? "Directory" : "Cache"; });

TEST_P(HostilePull, PlantsNoRecordsOfOurs) {
  HubRepository repository = small_repository();
  for (const char* name : {".tilewright/patch.json", ".TileWright/pin.json", "extra/.tilewright/patch.json"})
    repository.files.push_back({.path = name, .bytes = "{\"format\": \"tilewright-patch-1\"}"});
  if (GetParam())
    repository.files.push_back({.path = ".Cache/HuggingFace/download/config.json.metadata", .bytes = "x"});
  server.serve(repository);
  const hub::PullResult result = pull(request);
  EXPECT_EQ(result.files.size(), 5u);
  expect_whole(small_repository(), result.path);
  for (const char* name : {".tilewright", ".TileWright", "extra/.tilewright", ".Cache"})
    EXPECT_FALSE(fs::exists(result.path / name)) << name;
  EXPECT_NE(told.notes.find("left out"), std::string::npos) << told.notes;
  EXPECT_NE(told.notes.find(".tilewright/patch.json"), std::string::npos) << told.notes;
  server.stop();  // what was left out is not missing
  EXPECT_TRUE(pull(request).from_disk);
  hub::HubSettings offline = settings();
  offline.offline = true;
  EXPECT_EQ(hub::pull(offline, request, told, options()).files.size(), 5u);
}

TEST_P(HostilePull, NothingButRecordsIsNothing) {
  server.serve({.id = "org/model", .files = {{.path = ".tilewright/patch.json", .bytes = "{}"}}});
  EXPECT_NE(pull_error(request), "");
  EXPECT_EQ(body_requests(), 0u);
}

TEST_P(HostilePull, PatchesOfPyptoGymStayAndAreNamed) {
  server.serve(small_repository());
  const fs::path config = pull(request).path / "config.json";
  fs::copy_file(config, config.string() + ".pypto_orig");
  fs::remove(config);
  std::ofstream(config) << "{\"patched\": true}";
  for (const bool force : {false, true}) {
    request.force = force;
    told.notes.clear();
    pull(request);
    EXPECT_EQ(bytes_of_file(config), "{\"patched\": true}") << force;
    EXPECT_NE(told.notes.find("patched and stays as it is: config.json"), std::string::npos) << told.notes;
  }
}

TEST_P(HostilePull, ACommitMayBeWrittenInCapitals) {
  const std::string commit = server.serve(small_repository());
  for (char c : commit) request.revision += c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
  request.revision.erase(0, 4);  // "main"
  const fs::path path = pull(request).path;
  expect_whole(small_repository(), path);
  hub::HubSettings offline = settings();
  offline.offline = true;
  const hub::PullResult again = hub::pull(offline, request, told, options());
  EXPECT_EQ(again.path, path);
  EXPECT_EQ(again.commit, commit);
  EXPECT_EQ(again.files.size(), 5u);
  if (request.output_dir.empty()) {
    EXPECT_EQ(find_snapshot(offline, request.id, request.revision).path, path);
  }
}

TEST_P(HostilePull, IdsWithoutAnOrganisationAndRevisionsWithSlashes) {
  HubRepository repository = small_repository();
  repository.id = request.id = "gpt2";
  repository.refs["release/v1.0"] = std::string(40, 'b');
  server.serve(repository);
  request.revision = "release/v1.0";
  const hub::PullResult result = pull(request);
  EXPECT_EQ(result.commit, std::string(40, 'b'));
  expect_whole(repository, result.path);
  server.stop();
  EXPECT_EQ(pull(request).commit, std::string(40, 'b'));
}

// A network's login page answers everything with 200.
TEST_P(HostilePull, ALoginPageIsNoSuccess) {
  server.serve(small_repository());
  server.add_rule({.target = "",
                   .times = -1,
                   .headers = {{"Content-Type", "text/html"}},
                   .body = "\n<!DOCTYPE html><html>Please log in</html>"});
  EXPECT_NE(pull_error(request).find("web page"), std::string::npos);
  EXPECT_EQ(names_below(root), std::vector<std::string>{});
  server.clear_rules();
  server.add_rule({.target = "/resolve/",
                   .times = -1,
                   .headers = {{"Content-Type", "text/html; charset=utf-8"}},
                   .body = "<!DOCTYPE html><html>Please log in</html>"});
  EXPECT_NE(pull_error(request).find("the server sends a web page"), std::string::npos);
}

TEST_P(HostilePull, APointerInsteadOfTheContentIsNoSuccess) {
  server.serve(small_repository());
  server.add_rule(
      {.target = "/model.safetensors",
       .times = -1,
       .body = "version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 300000\n"});
  request.workers = 1;
  const std::string error = pull_error(request);
  EXPECT_NE(error.find("model.safetensors"), std::string::npos) << error;
  EXPECT_NE(error.find("the listing says 300000"), std::string::npos) << error;
  server.clear_rules();
  expect_whole(small_repository(), pull(request).path);
}

// Each wait says why.
TEST_P(HostilePull, WaitsNameTheFileAndTheTrouble) {
  server.serve(small_repository());
  server.add_rule({.target = "/model.safetensors", .times = 1, .body = "short"});
  hub::HttpClient::Options slow = options();
  slow.retry.first_wait = slow.retry.longest_wait = std::chrono::milliseconds(1000);
  hub::pull(settings(), request, told, slow);
  EXPECT_NE(told.notes.find("model.safetensors: the server sends 5 bytes, the listing says 300000; trying again"),
            std::string::npos)
      << told.notes;
}

TEST_F(PullFixture, FilesAndFoldersInTheWayAreNamedBeforeAnyBody) {
  server.serve(small_repository());
  const hub::PullRequest request{.id = "org/model", .output_dir = root / "model"};
  fs::create_directories(root / "model/config.json");
  std::string error = pull_error(request);
  EXPECT_NE(error.find("config.json"), std::string::npos) << error;
  EXPECT_NE(error.find("found a folder"), std::string::npos) << error;
  fs::remove_all(root / "model");
  fs::create_directories(root / "model");
  std::ofstream(root / "model/extra") << "mine";
  error = pull_error(request);
  EXPECT_NE(error.find("model/extra"), std::string::npos) << error;
  EXPECT_NE(error.find("found a file"), std::string::npos) << error;
  EXPECT_EQ(body_requests(), 0u);
  EXPECT_EQ(bytes_of_file(root / "model/extra"), "mine");
}

TEST_F(PullFixture, MoreWorkersThanTheSystemLetsOpenFiles) {
  HubRepository repository{.id = "org/model", .files = {}};
  for (int i = 0; i < 200; ++i)
    repository.files.push_back(
        {.path = std::to_string(i) + ".txt", .bytes = std::string(2000, 'x') + std::to_string(i)});
  server.serve(repository);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit few = before;
  few.rlim_cur = 128;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string error = pull_error({.id = "org/model", .workers = 256});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(error, "");
}

TEST_F(PullFixture, PathsAreTidyAndACacheThatIsAFileIsNamed) {
  server.serve(small_repository());
  for (const char* spelling : {"model/.", "model/", "./model", "model//"})
    EXPECT_EQ(pull({.id = "org/model", .output_dir = root.string() + "/" + spelling}).path, root / "model") << spelling;
  std::ofstream(root / "cache") << "mine";
  const std::string error = pull_error({.id = "org/model"});
  EXPECT_NE(error.find((root / "cache").string()), std::string::npos) << error;
  EXPECT_NE(error.find("HF_HUB_CACHE"), std::string::npos) << error;
}

// A connection costs more than a small file.
TEST_P(HostilePull, AWorkerKeepsItsConnection) {
  HubRepository repository{.id = "org/model", .files = {}};
  for (int i = 0; i < 60; ++i)
    repository.files.push_back({.path = std::to_string(i) + ".txt", .bytes = std::to_string(i)});
  server.serve(repository);
  request.workers = 3;
  const std::size_t before = server.connections();
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(body_requests(), 60u);
  EXPECT_LE(server.connections() - before, 4u) << "one for the listing, one a worker";
}

}  // namespace
}  // namespace tilewright::test

// What a stranger's repository may hold that is meant for us rather than for the model.
#include <gtest/gtest.h>

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

#include <gtest/gtest.h>

#include "hub/fetch/pull.h"
#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

class LocalSnapshotTest : public PullFixture {
 public:
  hub::LocalSnapshot find(const std::string& revision = "main") const {
    return hub::find_snapshot(settings(), "org/model", revision);
  }
};

TEST_F(LocalSnapshotTest, FindsWhatWasPulled) {
  const hub::LocalSnapshot before = find();
  EXPECT_TRUE(before.path.empty());
  EXPECT_NE(before.reason.find("not in the cache"), std::string::npos) << before.reason;
  const std::string commit = server.serve(small_repository());
  const fs::path path = pull({.id = "org/model"}).path;
  server.forget_requests();
  EXPECT_EQ(find().path, path);
  EXPECT_EQ(find().reason, "");
  EXPECT_EQ(find(commit).path, path);
  EXPECT_TRUE(find("v1").path.empty());
  EXPECT_TRUE(hub::find_snapshot(settings(), "org/other").path.empty());
  EXPECT_TRUE(hub::find_snapshot(settings(), "../other").path.empty());
  EXPECT_EQ(server.requests().size(), 0u);
}

TEST_F(LocalSnapshotTest, NamesWhatAModelLacks) {
  server.serve(small_repository());
  pull({.id = "org/model", .ignore = {"*.safetensors"}});
  EXPECT_TRUE(find().path.empty());
  EXPECT_NE(find().reason.find("model.safetensors"), std::string::npos) << find().reason;
  pull({.id = "org/model", .allow = {"model.safetensors"}});
  EXPECT_FALSE(find().path.empty()) << find().reason;  // extra/ is no part of the model
}

TEST_F(LocalSnapshotTest, WeightsUnderOtherNamesAreNotNeededBesideAnIndex) {
  HubRepository repository = small_repository();
  repository.files.push_back({.path = "model.safetensors.index.json", .bytes = "{}"});
  repository.files.push_back({.path = "model-00001-of-00001.safetensors", .bytes = "x", .lfs = true});
  server.serve(repository);
  pull({.id = "org/model", .ignore = {"model.safetensors"}});
  EXPECT_FALSE(find().path.empty()) << find().reason;
  server.serve(repository);
  fs::remove(find().path / "model-00001-of-00001.safetensors");
  EXPECT_NE(find().reason.find("model-00001-of-00001.safetensors"), std::string::npos) << find().reason;
}

// Older clients keep no list of a repository's files.
TEST_F(LocalSnapshotTest, WithoutAListTheWeightsMustBeThereAllTheSame) {
  HubRepository repository = small_repository();
  server.serve(repository);
  const fs::path path = pull({.id = "org/model"}).path;
  const auto missing = [&] {
    const hub::LocalSnapshot found = find();
    EXPECT_EQ(found.path.empty(), !found.reason.empty());
    return found.reason;
  };
  fs::remove_all(root / "cache/models--org--model/trees");
  EXPECT_EQ(missing(), "");
  fs::remove(path / "config.json");
  EXPECT_EQ(missing(), "incomplete: config.json is missing");
  std::ofstream(path / "config.json") << "{}";
  fs::remove(path / "model.safetensors");
  EXPECT_EQ(missing(), "incomplete: model.safetensors is missing") << "those in folders are others";
  std::ofstream(path / "weights.safetensors") << "x";
  EXPECT_EQ(missing(), "");
  std::ofstream(path / "model.safetensors.index.json")
      << R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors", "d": "../x", "e": 1}})";
  std::ofstream(path / "m-1.safetensors") << "x";
  EXPECT_EQ(missing(), "incomplete: m-2.safetensors is missing");
  std::ofstream(path / "m-2.safetensors") << "x";
  EXPECT_EQ(missing(), "");
  for (const char* damaged : {"", "[]", "{}", R"({"weight_map": 3})"}) {
    std::ofstream(path / "model.safetensors.index.json") << damaged;
    EXPECT_EQ(missing(), "") << "who loads it says what is wrong";
  }
}

TEST_F(LocalSnapshotTest, PatternsOfModelFilesBringWhatAModelNeeds) {
  server.serve(small_repository());
  pull({.id = "org/model", .allow = hub::model_file_patterns()});
  EXPECT_FALSE(find().path.empty()) << find().reason;
}

}  // namespace
}  // namespace tilewright::test

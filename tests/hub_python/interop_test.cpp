// What we downloaded, Python's huggingface_hub takes as its own, and the other way round: nobody fetches a body twice.
#include <algorithm>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "hub/fetch/pull.h"
#include "hub_python/python_hub.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {
namespace {

HubRepository shared_model() {
  return {.id = "org/shared",
          .files = {{.path = "config.json", .bytes = "{\"model_type\": \"qwen3\"}\n"},
                    {.path = "copy of config.json", .bytes = "{\"model_type\": \"qwen3\"}\n"},
                    {.path = "sub/deep/empty.txt", .bytes = ""},
                    {.path = "sub/tokenizer.json", .bytes = std::string(70'000, 't')},
                    {.path = "model.safetensors", .bytes = {}, .lfs = true, .made_size = 3'000'000}},
          .refs = {{"v1.0", std::string(40, 'a')}, {"refs/pr/1", std::string(40, 'b')}}};
}

std::map<std::string, std::string> right_files() {
  std::map<std::string, std::string> files;
  for (const HubFile& file : shared_model().files) files[file.path] = HubServer::bytes_of(file);
  return files;
}

class Interop : public PythonHub, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    PythonHub::SetUp();
    if (IsSkipped()) return;
    commit = server.serve(shared_model());
    server.cdn_for_lfs = true;
    settings.endpoint = server.endpoint();
    settings.home = folder / "hf";
    settings.cache = settings.home / "hub";
    if (GetParam()) directory = folder / "model";
  }

  hub::PullResult pull(std::vector<std::string> allow = {}, const std::string& revision = "main") {
    hub::PullObserver nobody;
    return hub::pull(settings,
                     {.id = "org/shared", .revision = revision, .allow = std::move(allow), .output_dir = directory},
                     nobody);
  }
  Json python(Json more = Json::object(), bool offline = false) {
    Json arguments = {{"repo_id", "org/shared"}};
    if (GetParam()) arguments["local_dir"] = directory.string();
    for (const auto& [name, value] : more.items()) arguments[name] = value;
    const PythonAnswers answers =
        call_python_hub(Json::array({{{"call", "snapshot_download"}, {"arguments", arguments}}}), server.endpoint(),
                        folder, {{"HF_HUB_OFFLINE", offline ? "1" : "0"}});
    log = answers.log;
    return answers.answers[0];
  }
  std::filesystem::path expected_path(const std::string& of_commit) const {
    return GetParam() ? directory : settings.cache / "models--org--shared/snapshots" / of_commit;
  }
  int bodies() const {
    int count = 0;
    for (const HubRequest& one : server.requests())
      count += one.method == "GET" && one.target.find("/api/") == std::string::npos;
    return count;
  }

  HubServer server;
  hub::HubSettings settings;
  std::filesystem::path directory;  // empty: the cache
  std::string commit, log;
};

INSTANTIATE_TEST_SUITE_P(Layouts, Interop, ::testing::Bool(),
                         [](const auto& layout) { return std::string(layout.param ? "Directory" : "Cache"); });

TEST_P(Interop, PythonTakesWhatWePulled) {
  EXPECT_EQ(pull().path, expected_path(commit));
  for (const bool offline : {false, true}) {
    server.forget_requests();
    const Json answer = python({}, offline);
    EXPECT_EQ(answer.value("result", answer.dump()), expected_path(commit).string());
    EXPECT_EQ(bodies(), 0);
    EXPECT_TRUE(!offline || server.requests().empty());
    // Offline it always warns that a directory is taken as it is.
    EXPECT_TRUE(offline || log.find("arning") == std::string::npos) << log;
    EXPECT_TRUE(files_below(expected_path(commit)) == right_files());
  }
}

TEST_P(Interop, WeTakeWhatPythonDownloaded) {
  ASSERT_TRUE(python().contains("result")) << log;
  for (const bool offline : {false, true}) {
    settings.offline = offline;
    server.forget_requests();
    const hub::PullResult result = pull();
    EXPECT_EQ(result.path, expected_path(commit));
    EXPECT_EQ(result.commit, commit);
    EXPECT_EQ(result.from_disk, offline);
    for (const hub::PulledFile& file : result.files)
      EXPECT_EQ(file.status, hub::PulledFile::Status::present) << file.file.path;
    EXPECT_EQ(result.files.size(), right_files().size());
    EXPECT_EQ(bodies(), 0);
    EXPECT_TRUE(!offline || server.requests().empty());
    EXPECT_TRUE(files_below(result.path) == right_files());
  }
}

// Each adds what the other one left out.
TEST_P(Interop, EachCompletesWhatTheOtherBegan) {
  pull({"*.json"});
  server.forget_requests();
  ASSERT_TRUE(python({{"allow_patterns", Json::array({"*.json", "*.txt"})}}).contains("result")) << log;
  for (const HubRequest& one : server.requests())
    EXPECT_TRUE(one.method != "GET" || one.target.find(".json") == std::string::npos) << one.target;
  server.forget_requests();
  const hub::PullResult result = pull();
  EXPECT_EQ(bodies(), 2);  // the weights: at the hub, and where it sends us
  EXPECT_TRUE(files_below(result.path) == right_files());
  EXPECT_EQ(python({}, true).value("result", log), result.path.string());
}

TEST_P(Interop, BothKnowOfflineWhatIsMissing) {
  pull({"*.json"});
  EXPECT_TRUE(python({{"allow_patterns", "*.json"}}, true).contains("result")) << log;
  // Of directories it knows no branches; and there it asks for each file.
  const Json refused = python(Json::object({{"revision", GetParam() ? commit : "main"}}), true);
  EXPECT_EQ(refused.value("error", ""), GetParam() ? "LocalEntryNotFoundError" : "IncompleteSnapshotError") << refused;
  std::filesystem::remove_all(settings.home);
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(python({{"allow_patterns", "*.json"}}).contains("result")) << log;
  settings.offline = true;
  EXPECT_EQ(pull({"*.json"}).files.size(), 3u);
  try {
    pull();
    ADD_FAILURE() << "an incomplete snapshot was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("model.safetensors"), std::string::npos) << error.what();
  }
}

// What a Python that was killed leaves is in nobody's way.
TEST_P(Interop, LeftPartialFilesDisturbNobody) {
  const HubFile weights = shared_model().files[4];
  const std::filesystem::path beside =
      GetParam() ? directory / ".cache/huggingface/download" : settings.cache / "models--org--shared/blobs";
  std::filesystem::create_directories(beside);
  const std::string etag = HubServer::etag_of(weights), name = GetParam() ? "xYz0123=." + etag : etag;
  for (const std::string& left : {name + ".incomplete", name + ".0a1b2c3d.incomplete"})
    std::ofstream(beside / left) << std::string(1'000'000, '?');
  EXPECT_TRUE(files_below(pull().path) == right_files());
  server.forget_requests();
  EXPECT_TRUE(python().contains("result")) << log;
  EXPECT_EQ(bodies(), 0);
}

TEST_P(Interop, WithoutLinks) {
  settings.links = false;
  const hub::PullResult result = pull();
  EXPECT_FALSE(std::filesystem::is_symlink(result.path / "model.safetensors"));
  server.forget_requests();
  EXPECT_EQ(python().value("result", log), result.path.string());
  EXPECT_EQ(bodies(), 0);
}

// Of two at the same time, the second waits, and finds what the first one brought.
TEST_P(Interop, ABodyIsFetchedOnceByTwoAtTheSameTime) {
  for (const bool python_first : {true, false}) {
    std::filesystem::remove_all(settings.home);
    std::filesystem::remove_all(directory);
    server.forget_requests();
    server.clear_rules();
    server.add_rule({.method = "GET", .target = "/cdn/", .times = 1, .stall_ms = 2000});
    const auto one = [&](bool with_python) {
      if (with_python) {
        EXPECT_TRUE(python().contains("result"));
      } else {
        EXPECT_TRUE(files_below(pull().path) == right_files());
      }
    };
    const auto bodies_of_cdn = [&] {
      const auto all = server.requests();
      return std::count_if(all.begin(), all.end(),
                           [](const HubRequest& request) { return request.to_cdn && request.method == "GET"; });
    };
    std::thread first([&] { one(python_first); });
    for (int turn = 0; turn < 20'000 && bodies_of_cdn() == 0; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    one(!python_first);
    first.join();
    EXPECT_EQ(bodies_of_cdn(), 1) << python_first;
  }
}

class InteropCache : public Interop {};
INSTANTIATE_TEST_SUITE_P(Layouts, InteropCache, ::testing::Values(false));

TEST_P(InteropCache, IsScannedWithoutWarnings) {
  pull();
  pull({}, "v1.0");
  const Json scan =
      call_python_hub(Json::array({{{"call", "scan_cache_dir"}}}), server.endpoint(), folder).answers[0]["result"];
  EXPECT_EQ(scan["warnings"], Json::array());
  const Json& repository = scan["repositories"]["org/shared"];
  EXPECT_EQ(repository["size"], 3'000'000 + 70'000 + 24);
  EXPECT_EQ(repository["files"].size(), 2 * right_files().size());
  EXPECT_EQ(repository["refs"], (Json{{"main", commit}, {"v1.0", std::string(40, 'a')}}));
}

TEST_P(InteropCache, RevisionsAreFoundByTheirNames) {
  for (const auto& [revision, of_commit] : shared_model().refs) pull({}, revision);
  for (const auto& [revision, of_commit] : shared_model().refs) {
    const Json answer = python({{"revision", revision}}, true);
    EXPECT_EQ(answer.value("result", answer.dump()), expected_path(of_commit).string());
  }
  std::filesystem::remove_all(settings.home);
  for (const auto& [revision, of_commit] : shared_model().refs)
    ASSERT_TRUE(python({{"revision", revision}}).contains("result")) << log;
  settings.offline = true;
  for (const auto& [revision, of_commit] : shared_model().refs)
    EXPECT_EQ(pull({}, revision).path, expected_path(of_commit));
}

}  // namespace
}  // namespace tilewright::test

// The hub of the tests is one that the real client takes for the real one.
#include "hub_python/python_hub.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {
namespace {

HubRepository repository_of(const std::string& id) {
  HubRepository repository{.id = id,
                           .files = {{.path = "config.json", .bytes = "{\"model_type\": \"qwen3\"}\n"},
                                     {.path = "sub folder/a+b%20.txt", .bytes = "spaces and signs"},
                                     {.path = "sub folder/deep/empty.txt", .bytes = ""},
                                     {.path = "model.safetensors", .bytes = {}, .lfs = true, .made_size = 12'000'000},
                                     {.path = "tokenizer.json", .bytes = std::string(30000, 't')}},
                           .refs = {{"v1.0", std::string(40, 'a')}, {"refs/pr/1", std::string(40, 'b')}}};
  for (int i = 0; i < 20; ++i)
    repository.files.push_back({.path = "many/" + std::to_string(i), .bytes = std::to_string(i)});
  return repository;
}

std::map<std::string, std::string> expected_files(const HubRepository& repository) {
  std::map<std::string, std::string> files;
  for (const HubFile& file : repository.files) files[file.path] = HubServer::bytes_of(file);
  return files;
}

class PythonOnServer : public PythonHub {
 protected:
  Json call(const std::string& name, Json arguments, const std::map<std::string, std::string>& environment = {}) {
    const PythonAnswers answers = call_python_hub(Json::array({{{"call", name}, {"arguments", std::move(arguments)}}}),
                                                  server.endpoint(), folder, environment);
    EXPECT_EQ(answers.log.find("arning"), std::string::npos) << answers.log;
    return answers.answers[0];
  }
  HubServer server;
};

TEST_F(PythonOnServer, TakesSnapshotsInBothLayouts) {
  const HubRepository repository = repository_of("org/model");
  const std::string commit = server.serve(repository);
  server.page_size = 7;
  for (const bool cdn : {false, true}) {
    server.cdn_for_lfs = cdn;
    server.forget_requests();
    std::filesystem::remove_all(folder / "hf");
    Json answer = call("snapshot_download", {{"repo_id", "org/model"}}, {{"HF_TOKEN", "hf_secret"}});
    ASSERT_TRUE(answer.contains("result")) << answer;
    EXPECT_EQ(answer["result"], (folder / "hf/hub/models--org--model/snapshots" / commit).string());
    EXPECT_TRUE(files_below(std::string(answer["result"])) == expected_files(repository));
    int pages = 0, of_cdn = 0;
    for (const HubRequest& request : server.requests()) {
      EXPECT_TRUE(request.status == 200 || request.status == 302) << request.target << " " << request.status;
      pages += request.target.find("/tree/") != std::string::npos;
      of_cdn += request.to_cdn;
      EXPECT_EQ(request.headers.count("authorization"), request.to_cdn ? 0u : 1u) << request.target;
    }
    EXPECT_EQ(pages, 4);
    EXPECT_EQ(of_cdn > 0, cdn);
    const std::filesystem::path plain = folder / (cdn ? "plain_cdn" : "plain");
    answer = call("snapshot_download", {{"repo_id", "org/model"}, {"local_dir", plain.string()}});
    ASSERT_TRUE(answer.contains("result")) << answer;
    EXPECT_TRUE(files_below(plain) == expected_files(repository));
  }
}

TEST_F(PythonOnServer, ResolvesRevisions) {
  const HubRepository repository = repository_of("org/model");
  const std::string commit = server.serve(repository);
  const std::pair<std::string, std::string> revisions[] = {
      {"main", commit}, {"v1.0", std::string(40, 'a')}, {"refs/pr/1", std::string(40, 'b')}, {commit, commit}};
  Json calls = Json::array();
  for (const auto& [revision, sha] : revisions)
    calls.push_back({{"call", "hf_hub_download"},
                     {"arguments", {{"repo_id", "org/model"}, {"filename", "config.json"}, {"revision", revision}}}});
  const Json answers = call_python_hub(calls, server.endpoint(), folder).answers;
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_EQ(answers[i].value("result", answers[i].dump()),
              (folder / "hf/hub/models--org--model/snapshots" / revisions[i].second / "config.json").string());
}

TEST_F(PythonOnServer, RaisesTheErrorsOfTheRealHub) {
  HubRepository closed = repository_of("org/closed"), gated = repository_of("org/gated");
  closed.token = "hf_right", gated.gated = true;
  server.serve(closed), server.serve(gated), server.serve(repository_of("org/model"));
  const auto snapshot = [](const std::string& id, const std::string& revision = "main") {
    return Json{{"call", "snapshot_download"}, {"arguments", {{"repo_id", id}, {"revision", revision}}}};
  };
  const auto file = [](const std::string& id, const std::string& name) {
    return Json{{"call", "hf_hub_download"}, {"arguments", {{"repo_id", id}, {"filename", name}}}};
  };
  const Json calls =
      Json::array({snapshot("org/none"), snapshot("org/closed"), snapshot("org/model", "none"), snapshot("org/gated"),
                   file("org/gated", "config.json"), file("org/model", "none.json"), file("org/none", "config.json")});
  const std::vector<std::string> expected = {
      "RepositoryNotFoundError", "RepositoryNotFoundError",  "RevisionNotFoundError",  "GatedRepoError",
      "GatedRepoError",          "RemoteEntryNotFoundError", "RepositoryNotFoundError"};
  const PythonAnswers answers = call_python_hub(calls, server.endpoint(), folder);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Json classes = answers.answers[i].value("classes", Json::array());
    EXPECT_NE(std::find(classes.begin(), classes.end(), expected[i]), classes.end()) << calls[i] << answers.answers[i];
  }
  EXPECT_TRUE(call("snapshot_download", {{"repo_id", "org/closed"}}, {{"HF_TOKEN", "hf_right"}}).contains("result"));
}

// A connection that ends in order; after an RST this client gives up.
TEST_F(PythonOnServer, GoesOnAfterADrop) {
  const HubRepository repository = repository_of("org/model");
  server.serve(repository);
  server.add_rule({.method = "GET", .target = "model.safetensors", .drop_after = 11'000'000, .close_early = true});
  const Json answer =
      call("hf_hub_download",
           {{"repo_id", "org/model"}, {"filename", "model.safetensors"}, {"local_dir", (folder / "m").string()}});
  ASSERT_TRUE(answer.contains("result")) << answer;
  EXPECT_TRUE(files_below(folder / "m").at("model.safetensors") == HubServer::bytes_of(repository.files[3]));
  EXPECT_EQ(server.requests().back().headers.count("range"), 1u);
}

}  // namespace
}  // namespace tilewright::test

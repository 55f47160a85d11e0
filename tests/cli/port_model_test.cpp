// The first steps of `tilewright port`: pull and patch.
#include <signal.h>

#include "cli/hub_fixture.h"

namespace tilewright::test {
namespace {

struct PortHome : HubHome {
  std::string folder = (scratch.path() / "out").string();

  Outcome port(const std::string& model, std::vector<std::string> more = {}, RunOptions options = {}) const {
    std::vector<std::string> words = quick("port", model, {"--arms", "eager,graph", "--output-dir", folder});
    words.insert(words.end(), more.begin(), more.end());
    return run(words, {}, options);
  }
  Json report() const { return read_json_file(folder + "/report.json"); }
  Json step(const std::string& name) const {
    const Json whole = report();
    for (const Json& each : whole["result"]["steps"])
      if (each["name"] == name) return each;
    return {};
  }
  std::string status(const std::string& name) const { return step(name)["status"]; }
  std::string detail(const std::string& name) const { return step(name)["detail"]; }
};

// Names, link targets, times and bytes of a folder.
std::map<std::string, std::string> state_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    std::string& text = out[each.path().string()];
    if (each.is_symlink())
      text = "-> " + std::filesystem::read_symlink(each.path()).string();
    else if (each.is_regular_file())
      text = std::to_string(each.last_write_time().time_since_epoch().count()) + read_text_file(each.path());
  }
  return out;
}

TEST(PortModel, AnIdIsPulledPatchedAndMeasured) {
  PortHome home;
  const std::string commit = home.server.serve(bard_repository());
  const Outcome o = home.port("org/bard");
  ASSERT_EQ(o.code, 0) << o.err;
  expect_columns(o.out, 100);
  expect_plain_text(o.err);
  for (const char* step : {"resolve", "pull", "patch", "smoke", "arms", "report"})
    EXPECT_EQ(home.status(step), "done") << step;
  EXPECT_TRUE(contains(home.detail("pull"), commit)) << home.detail("pull");
  EXPECT_TRUE(contains(home.detail("pull"), "fetched")) << home.detail("pull");
  EXPECT_TRUE(contains(home.detail("patch"), "qwen3")) << home.detail("patch");
  EXPECT_EQ(home.report()["result"]["bench"]["model"]["name"], "bard");
  const std::filesystem::path snapshot = home.scratch.path() / "hf/hub/models--org--bard/snapshots" / commit;
  EXPECT_FALSE(std::filesystem::exists(snapshot / "README.md"));  // what no model needs
  EXPECT_FALSE(std::filesystem::exists(snapshot / ".tilewright"));
  EXPECT_TRUE(std::filesystem::exists(home.folder + "/model/.tilewright/pin.json"));

  home.server.forget_requests();
  const auto cache = state_of(home.scratch.path() / "hf");
  const Outcome again = home.port("org/bard", {"--resume"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(home.status("pull"), "skipped");
  EXPECT_TRUE(contains(home.detail("pull"), "complete in the cache")) << home.detail("pull");
  for (const char* step : {"patch", "smoke", "arms"}) EXPECT_EQ(home.status(step), "reused") << step;
  EXPECT_TRUE(home.server.requests().empty());
  EXPECT_EQ(state_of(home.scratch.path() / "hf"), cache);
}

TEST(PortModel, ARevisionBehindTheNameIsTheOneThatIsPulled) {
  PortHome home;
  HubRepository repository = bard_repository();
  repository.refs = {{"v1", std::string(40, 'a')}};
  home.server.serve(repository);
  EXPECT_EQ(home.port("org/bard@v1", {"--skip", "smoke,arms"}).code, 0);
  EXPECT_TRUE(contains(home.detail("pull"), std::string(40, 'a'))) << home.detail("pull");
  for (const HubRequest& request : home.server.requests()) EXPECT_FALSE(contains(request.target, "/revision/main"));
}

TEST(PortModel, ADirectoryStaysAsItIsAndRemoteCodeIsLeftOut) {
  PortHome home;
  const std::filesystem::path model = home.scratch.path() / "mine";
  std::filesystem::create_directory(model);
  for (const auto& file : std::filesystem::directory_iterator(kBardModel))
    if (file.path().filename() != "config.json")
      std::filesystem::create_symlink(file.path(), model / file.path().filename());
  Json config = read_json_file(kBardModel + "/config.json");
  config["auto_map"] = {{"AutoModelForCausalLM", "org/other--modeling_x.XModel"}};
  std::ofstream(model / "config.json") << config;
  const std::filesystem::path modules = home.scratch.path() / "hf/modules/transformers_modules";
  for (const char* name : {"mine", "model"}) {
    std::filesystem::create_directories(modules / name);
    std::ofstream(modules / name / "x.py") << "x";
  }
  const auto before = state_of(model), modules_before = state_of(modules);
  const Outcome o = home.port(model.string());
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(state_of(model), before);
  EXPECT_EQ(state_of(modules), modules_before) << "no Python runs";
  EXPECT_EQ(home.status("pull"), "skipped");
  EXPECT_TRUE(contains(home.detail("pull"), "a directory")) << home.detail("pull");
  EXPECT_TRUE(contains(home.detail("patch"), "remote code")) << home.detail("patch");
  EXPECT_FALSE(contains(read_text_file(home.folder + "/model/config.json"), "org/other"));
  EXPECT_EQ(home.report()["result"]["bench"]["model"]["name"], "mine");
  // config.json of the overlay is a file of its own: kept, or nothing could be resumed.
  EXPECT_EQ(home.port(model.string(), {"--resume"}).code, 0);
  for (const char* step : {"patch", "smoke", "arms"}) EXPECT_EQ(home.status(step), "reused") << step;
  // Another model of the same place is another run.
  std::ofstream(model / "config.json") << config.dump(1);
  const Outcome other = home.port(model.string(), {"--resume"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(home.status("patch"), "done");
  EXPECT_EQ(home.status("arms"), "done");
  EXPECT_TRUE(home.server.requests().empty());
}

TEST(PortModel, APinnedDirectoryIsUsedAsItIs) {
  PortHome home;
  const std::filesystem::path model = home.scratch.path() / "mine";
  std::filesystem::copy(kBardModel, model);
  ASSERT_EQ(home.run({"patch", model.string()}).code, 0);
  const auto before = state_of(model);
  Outcome o = home.port(model.string(), {"--skip", "arms"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(contains(home.detail("patch"), "pinned already: qwen3")) << home.detail("patch");
  EXPECT_TRUE(contains(home.detail("patch"), "unchanged")) << home.detail("patch");
  EXPECT_EQ(state_of(model), before);
  EXPECT_FALSE(std::filesystem::exists(home.folder + "/model"));
  std::ofstream(model / "generation_config.json") << "{ }";
  o = home.port(model.string(), {"--skip", "arms"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(contains(home.detail("patch"), "1 file differs")) << home.detail("patch");
  const Outcome ask = home.run({"ask", model.string(), "--prompt", "To", "--max-new-tokens", "1"});
  EXPECT_EQ(ask.code, 0);
  EXPECT_TRUE(contains(ask.err, "generation_config.json")) << ask.err;  // loading warns
}

TEST(PortModel, AFamilyThatIsNotBuiltInFailsThePatchStep) {
  PortHome home;
  const std::filesystem::path model = home.scratch.path() / "mine";
  std::filesystem::create_directory(model);
  std::ofstream(model / "config.json") << R"({"model_type": "qwen9"})";
  const Outcome o = home.port(model.string());
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.err, "step patch failed")) << o.err;
  EXPECT_TRUE(contains(o.err, "qwen3") || contains(o.err, "qwen2")) << o.err;
  EXPECT_EQ(home.status("patch"), "failed");
  EXPECT_EQ(home.status("smoke"), "not run");
  EXPECT_EQ(home.status("report"), "done");
  EXPECT_TRUE(std::filesystem::exists(home.folder + "/report.html"));
}

TEST(PortModel, StepsCanBeLeftOut) {
  PortHome home;
  home.server.serve(bard_repository());
  const Outcome not_here = home.port("org/bard", {"--skip", "pull"});
  EXPECT_EQ(not_here.code, 1);
  EXPECT_TRUE(contains(not_here.err, "tilewright pull org/bard")) << not_here.err;
  EXPECT_TRUE(home.server.requests().empty());
  const Outcome o = home.port(kBardModel, {"--skip", "patch,arms"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(home.status("patch"), "skipped");
  EXPECT_FALSE(std::filesystem::exists(home.folder + "/model"));
}

TEST(PortModel, WhatIsNotOursIsNotReplaced) {
  PortHome home;
  std::filesystem::create_directories(home.folder + "/model");
  std::ofstream(home.folder + "/model/mine.txt") << "mine";
  const Outcome o = home.port(kBardModel);
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.err, "--output-dir")) << o.err;
  EXPECT_EQ(read_text_file(home.folder + "/model/mine.txt"), "mine");
  // A report inside of the model: no overlay, since that would change the model.
  const std::filesystem::path model = home.scratch.path() / "mine";
  std::filesystem::copy(kBardModel, model);
  home.folder = (model / "report").string();
  const Outcome inside = home.port(model.string(), {"--skip", "arms"});
  EXPECT_EQ(inside.code, 0) << inside.err;
  EXPECT_EQ(home.status("patch"), "skipped");
}

TEST(PortModel, CtrlCInThePullIsReportedAndGoesOn) {
  PortHome home;
  home.server.serve(bard_repository());
  home.server.add_rule({.target = "/resolve/", .times = -1, .drip_ms = 5});
  bool sent = false;
  RunOptions options;
  options.on_error = [&](pid_t child, const std::string& text) {
    if (!sent && contains(text, "config.json")) sent = kill(child, SIGINT) == 0;
  };
  const Outcome o = home.port("org/bard", {}, options);
  ASSERT_TRUE(sent) << o.err;
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_EQ(home.status("pull"), "interrupted");
  EXPECT_EQ(home.status("patch"), "not run");
  EXPECT_TRUE(contains(o.err, "interrupted")) << o.err;
  home.server.clear_rules();
  const Outcome again = home.port("org/bard", {"--skip", "arms"});
  EXPECT_EQ(again.code, 0) << again.err;
}

TEST(PortModel, AHubThatIsNotThereFailsThePullStep) {
  PortHome home;
  home.server.stop();
  const Outcome o = home.port("org/bard");
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.err, "step pull failed")) << o.err;
  EXPECT_EQ(home.status("pull"), "failed");
  EXPECT_TRUE(home.report()["result"]["bench"].is_null());
  EXPECT_EQ(home.run({"port", "not/an/id"}).code, 1);
  EXPECT_EQ(home.run({"port", "org/bard", "--gen", "4", "--arms", "none"}).code, 2);
}

}  // namespace
}  // namespace tilewright::test

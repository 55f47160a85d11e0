#include "port/resume.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "safetensors/scratch.h"

namespace tilewright::port {
namespace {

using hub::Scratch;

TEST(Resume, TheFirstDifferenceIsNamed) {
  const Json was = {{"settings", {{"gen", {64, 1}}, {"iters", 6}}}, {"tool", "0.1.0"}};
  Json is = was;
  EXPECT_EQ(first_difference(was, is), "");
  is["settings"]["gen"] = {128, 1};
  EXPECT_EQ(first_difference(was, is), "settings.gen was [64,1] and is [128,1]");
  is = was;
  is["settings"].erase("iters");
  EXPECT_EQ(first_difference(was, is), "settings.iters was 6 and is absent");
  EXPECT_NE(first_difference(Json(), was), "");
}

MeasurementOptions options_for(const std::filesystem::path& model) {
  MeasurementOptions out;
  out.bench.model.model = model;
  return out;
}

TEST(Resume, TheIdentityIsThatOfFilesAndSettings) {
  const Scratch scratch;
  scratch.write("config.json", "{}");
  MeasurementOptions options = options_for(scratch.path());
  const Json first = run_identity(options);
  EXPECT_EQ(first_difference(first, run_identity(options)), "");
  // As it comes back from a file.
  EXPECT_EQ(first_difference(parse_json(first.dump(), ""), run_identity(options)), "");
  scratch.write("notes.txt", "not the model's");
  EXPECT_EQ(first_difference(first, run_identity(options)), "");
  scratch.write("config.json", "{ }");
  EXPECT_NE(first_difference(first, run_identity(options)).find("config.json"), std::string::npos);
  // Of each file size and time count: either may stay.
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "chat_template.jinja"}) {
    const auto difference = [&](const Json& before) { return first_difference(before, run_identity(options)); };
    Json before = run_identity(options);
    const std::filesystem::path file = scratch.write(name, "ab");
    EXPECT_NE(difference(before).find(name), std::string::npos) << name;
    before = run_identity(options);
    const auto when = std::filesystem::last_write_time(file);
    scratch.write(name, "abc");
    std::filesystem::last_write_time(file, when);
    EXPECT_NE(difference(before).find(name), std::string::npos) << name;
    before = run_identity(options);
    std::filesystem::last_write_time(file, when - std::chrono::seconds(1));
    EXPECT_NE(difference(before).find(name), std::string::npos) << name;
  }
  const std::function<void()> changes[] = {[&] { options.bench.iters = 7; },
                                           [&] { options.bench.gen = {5}; },
                                           [&] { options.bench.seq = {5}; },
                                           [&] { options.bench.batch = {5}; },
                                           [&] { options.bench.prompt_len = 5; },
                                           [&] { options.bench.regime = "prefill"; },
                                           [&] { options.bench.warmup = 7; },
                                           [&] { options.bench.seed = 7; },
                                           [&] { options.bench.model.load.layers = 1; },
                                           [&] { options.bench.model.device = "another"; },
                                           [&] { options.bench.model.fuse = "another"; },
                                           [&] { options.bench.model.fuse_file = "another"; },
                                           [&] { options.bench.arms = {"eager"}; },
                                           [&] { options.bench.model.load.dtype = DType::f32; },
                                           [&] { options.bench.model.device_options.threads = 3; },
                                           [&] { options.goldens = {"g"}; }};
  for (const auto& change : changes) {
    options = options_for(scratch.path());
    const Json before = run_identity(options);
    change();
    EXPECT_NE(first_difference(before, run_identity(options)), "");
  }
}

Json report(const Json& identity, const std::string& status, const Json& incomplete) {
  return parse_json(R"({"kind": "port", "result": {"identity": )" + identity.dump() +
                        R"(, "bench": {"gate": {"smoke": {"ran": true, "passed": true,
                         "checks": [{"name": "text", "passed": true}]}},
                         "cases": [{"arms": [{"name": "graph", "status": ")" +
                        status + R"("}]}], "incomplete": )" + incomplete.dump() + "}}}",
                    "test");
}

EarlierRun look(const std::string& text, const Json& identity) {
  const Scratch scratch;
  scratch.write("report.json", text);
  return earlier_run(scratch.path(), identity);
}

TEST(Resume, WhatIsFinishedStands) {
  const Json identity = {{"tool", "1"}};
  const EarlierRun whole = look(report(identity, "measured", false).dump(), identity);
  EXPECT_TRUE(whole.smoke && whole.arms) << whole.refusal;
  EXPECT_EQ(whole.refusal, "");
  const EarlierRun stopped = look(report(identity, "measured", "interrupted after round 3").dump(), identity);
  EXPECT_TRUE(stopped.smoke);
  EXPECT_FALSE(stopped.arms);
  for (const char* status : {"failed", "wrong"})
    EXPECT_FALSE(look(report(identity, status, false).dump(), identity).arms) << status;
}

TEST(Resume, OtherReportsAreRefusedWithAReason) {
  const Json identity = {{"tool", "1"}};
  const Scratch scratch;
  EXPECT_NE(earlier_run(scratch.path(), identity).refusal.find("there is no"), std::string::npos);
  const EarlierRun other = look(report({{"tool", "2"}}, "measured", false).dump(), identity);
  EXPECT_NE(other.refusal.find("tool was"), std::string::npos);
  EXPECT_FALSE(other.smoke || other.arms);
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"kind": "port"})", R"({"kind": "port", "result": {}})", R"({"kind": 3, "result": 4})",
        R"({"kind": "ask", "result": {}})", R"({"kind": "port", "result": {"identity": {"tool": "1"}, "bench": 7}})",
        R"({"kind": "port", "result": {"identity": {"tool": "1"}, "bench": {"gate": []}}})"}) {
    const EarlierRun run = look(text, identity);
    EXPECT_NE(run.refusal, "") << text;
    EXPECT_FALSE(run.smoke || run.arms) << text;
  }
}

TEST(Resume, ExitCodes) {
  const auto bench = [&](const char* status, const Json& incomplete) -> Json {
    return report(Json::object(), status, incomplete)["result"]["bench"];
  };
  EXPECT_EQ(exit_code_of(bench("measured", false)), 0);
  EXPECT_EQ(exit_code_of(bench("refused", false)), 0);
  EXPECT_EQ(exit_code_of(bench("failed", false)), 1);
  EXPECT_EQ(exit_code_of(bench("wrong", false)), 1);
  EXPECT_NE(trouble_of(bench("wrong", false)).find("graph"), std::string::npos);
  EXPECT_EQ(exit_code_of(bench("measured", "interrupted after round 1")), 130);
  EXPECT_EQ(exit_code_of(bench("measured", "nothing was measured: no memory")), 1);
  Json gate = bench("measured", "the smoke gate failed: nothing was measured");
  gate["gate"]["smoke"]["passed"] = false;
  gate["gate"]["smoke"]["checks"][0]["passed"] = false;
  EXPECT_EQ(exit_code_of(gate), 1);
  EXPECT_NE(trouble_of(gate).find("measured: text"), std::string::npos) << trouble_of(gate);
}

}  // namespace
}  // namespace tilewright::port

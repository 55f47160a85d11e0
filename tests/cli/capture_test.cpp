// `tilewright capture` and `tilewright errors` as users run them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/run_program.h"
#include "safetensors/scratch.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;
using hub::Scratch;

const std::string kModels = TILEWRIGHT_SOURCE_DIR "/tests/models/data/";

bool fits_terminal(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }) > 100) return false;
  return true;
}

Json report(const fs::path& path) { return Json::parse(read_text_file(path)); }

TEST(Capture, CheckOfASoundModel) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "check.json";
  const Outcome o = run_program({"capture", "check", kModels + "qwen3-window", "--threads", "2", "--target", "910b2",
                                 "--report-file", file.string()});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  for (const char* part : {"decode step", "bit for bit", "mitigations", "known rules, not measured",
                           "sliding-window mask", "verdict: capturable"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
  const Json json = report(file);
  EXPECT_EQ(json["kind"], "capture-check");
  const Json& result = json["result"];
  EXPECT_EQ(result["capturable"], true);
  EXPECT_EQ(result["passes"][0]["replay_s"].size(), 20u);
  for (const Json& rule : result["target_rules"]) EXPECT_EQ(rule["measured"], false);
}

TEST(Capture, CheckSaysWhyNot) {
  const Outcome o = run_program({"capture", "check", kModels + "qwen3-dynamic"});
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  for (const char* part : {"cannot be captured", "107030", "ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT", "culprit",
                           "rotary_emb", "cause", "fix", "refused", "verdict: not capturable"})
    EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
}

TEST(Capture, CheckOfAShape) {
  const Outcome o = run_program({"capture", "check", "--weights", "dummy", "--shape", "SmolLM2-135M", "--layers", "1",
                                 "--ctx", "64", "--dtype", "bf16"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("decode step at 63"), std::string::npos) << o.out;
}

TEST(Capture, BisectNamesTheStage) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "bisect.json";
  const Outcome o = run_program({"capture", "bisect", kModels + "qwen3-base", "--inject", "side-stream@attention",
                                 "--report-file", file.string()});
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_TRUE(fits_terminal(o.out)) << o.out;
  EXPECT_NE(o.out.find("first stage that fails: attention"), std::string::npos) << o.out;
  const Json result = report(file)["result"];
  EXPECT_EQ(result["injection"], "side-stream@attention");
  EXPECT_EQ(result["stages"][1]["failure"]["code"], 107025);
  EXPECT_EQ(result["stages"][1]["failure"]["likely"], false);
  EXPECT_EQ(run_program({"capture", "bisect", kModels + "qwen3-base"}).code, 0);
}

TEST(Capture, WrongInjectionsAreOneLine) {
  for (const char* text : {"explode@attention", "synchronize@nowhere", "synchronize"}) {
    const Outcome o = run_program({"capture", "bisect", kModels + "qwen3-base", "--inject", text});
    EXPECT_EQ(o.code, 2) << text;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(std::string(text) == "synchronize@nowhere" ? "self_attn" : "side-stream"), std::string::npos)
        << o.err;
  }
  EXPECT_EQ(run_program({"capture"}).code, 2);
  const Outcome target = run_program({"capture", "check", kModels + "qwen3-base", "--target", "910x"});
  EXPECT_EQ(target.code, 1);
  EXPECT_NE(target.err.find("910b2"), std::string::npos) << target.err;
}

TEST(Capture, GraphsAreDumped) {
  const Scratch scratch;
  const std::string file = (scratch.path() / "graph.json").string();
  EXPECT_EQ(run_program({"capture", "dump", kModels + "qwen3-base", "-o", file}).code, 0);
  const Json graph = report(file);
  EXPECT_GT(graph["nodes"].size(), 50u);
  const Outcome dot =
      run_program({"capture", "dump", kModels + "qwen3-base", "--regime", "prefill", "--seq", "20", "--format", "dot"});
  EXPECT_EQ(dot.code, 0) << dot.err;
  EXPECT_EQ(dot.out.find("digraph"), 0u);
  EXPECT_NE(dot.out.find("self_attn"), std::string::npos);
}

TEST(Errors, TheTableAndItsRows) {
  const Outcome all = run_program({"errors"});
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(fits_terminal(all.out));
  for (const char* code : {"107022", "107027", "107041", "507011", "507015", "507903"})
    EXPECT_NE(all.out.find(code), std::string::npos) << code;
  const Outcome one = run_program({"errors", "107027"});
  for (const char* part : {"ACL_ERROR_RT_STREAM_CAPTURED", "meaning", "cause", "fix"})
    EXPECT_NE(one.out.find(part), std::string::npos) << part;
  EXPECT_EQ(run_program({"capture", "explain", "107027"}).out, one.out);
  EXPECT_EQ(run_program({"errors", "stream-captured"}).out.find("ACL"), 8u);
  EXPECT_EQ(Json::parse(run_program({"errors", "model_execute", "--format", "json"}).out)[0]["code"], 507011);
  const Outcome near = run_program({"errors", "107047"});
  EXPECT_EQ(near.code, 2);
  EXPECT_NE(near.err.find("107045"), std::string::npos) << near.err;
  EXPECT_NE(run_program({"errors", "STREAM_CAPTRED"}).err.find("STREAM_CAPTURED"), std::string::npos);
  EXPECT_EQ(run_program({"errors", "99999999999999999999999"}).code, 2);
}

}  // namespace
}  // namespace tilewright::test

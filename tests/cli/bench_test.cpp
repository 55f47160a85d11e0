// `tilewright bench` as a user runs it.
#include <csignal>
#include <cstdlib>

#include "cli/bench_fixture.h"

namespace tilewright::test {
namespace {

TEST(Bench, ATableOnStdoutAndFilesAsAskedFor) {
  const Scratch scratch;
  const auto file = [&](const char* name) { return (scratch.path() / name).string(); };
  const Outcome o = run_program(quick(
      "bench", kBardModel, {"--report-file", file("r.json"), "--html", file("r.html"), "--trace", file("t.json")}));
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* arm : {"eager", "graph", "fused", "fused+graph"}) EXPECT_TRUE(contains(o.out, arm)) << o.out;
  expect_plain_text(o.out);  // no colours and no bars in a pipe
  expect_plain_text(o.err);
  expect_columns(o.out, 100);
  EXPECT_TRUE(contains(o.err, "smoke: ")) << o.err;

  const Json report = read_json_file(file("r.json"));
  EXPECT_EQ(report["kind"], "bench");
  const Json& result = report["result"];
  EXPECT_EQ(result["gate"]["smoke"]["passed"], true);
  EXPECT_EQ(result["incomplete"], false);
  ASSERT_EQ(result["cases"].size(), 1u);
  ASSERT_EQ(result["cases"][0]["arms"].size(), 4u);
  for (const Json& arm : result["cases"][0]["arms"]) {
    EXPECT_EQ(arm["status"], "measured") << arm["name"] << arm["reason"];
    EXPECT_EQ(arm["seconds"].size(), 1u);
  }
  EXPECT_TRUE(read_text_file(file("r.html")).starts_with("<!"));
  const Json trace = read_json_file(file("t.json"));
  ASSERT_TRUE(trace.is_array());
  EXPECT_GT(trace.size(), 100u);
  EXPECT_EQ(scratch.entries(), 3u);
}

TEST(Bench, JsonOnStdoutAndQuietMeansQuiet) {
  const Outcome o = run_program(
      quick("bench", "",
            {"--format", "json", "--quiet", "--regime", "prefill", "--seq", "4,16", "--arms", "eager,fused"}),
      {.environment = {{"MODEL_PATH", kBardModel}}});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  const Json report = parse_json(o.out, "stdout");
  EXPECT_EQ(report["result"]["regime"], "prefill");
  EXPECT_EQ(report["result"]["cases"].size(), 2u);
}

TEST(Bench, WrongUsageIsOneLine) {
  const auto expect_usage = [](const std::vector<std::string>& more, const std::string& part) {
    const Outcome o = run_program(quick("bench", kBardModel, more));
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(contains(o.err, part)) << "wanted: " << part << "\ngot: " << o.err;
  };
  expect_usage({"--arms", "eager,grpah"}, "graph");
  expect_usage({"--arms", "eager,eager"}, "eager");
  expect_usage({"--arms", ""}, "--arms");
  expect_usage({"--regime", "training"}, "--regime");
  for (const char* list : {"", ",", "1,", "0", "-1", "a", "1.5", "99999999999"})
    expect_usage({"--batch", list}, "--batch");
  expect_usage({"--skip", "smok"}, "did you mean smoke?");
  expect_usage({"--skip", "arms"}, "expected smoke");
  expect_usage({"--fuse", "none"}, "--fuse none");
  expect_usage({"--iters", "0"}, "--iters");
  expect_usage({"--format", "xml"}, "--format");
  expect_usage({"--seed", "-1"}, "--seed");
  expect_usage({"--armz", "eager"}, "did you mean --arms?");
  EXPECT_EQ(run_program({"bench"}).code, 2);
}

TEST(Bench, MistakesAreFoundBeforeAnythingIsLoaded) {
  const Scratch scratch;
  const auto expect_error = [](const std::vector<std::string>& more, const std::string& part) {
    const Outcome o = run_program(quick("bench", kBardModel, more));
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_FALSE(contains(o.err, "smoke: ")) << o.err;
    EXPECT_LE(std::count(o.err.begin(), o.err.end(), '\n'), 4) << o.err;
    EXPECT_TRUE(contains(o.err, part)) << "wanted: " << part << "\ngot: " << o.err;
  };
  expect_error({"--gen", "5000"}, "--gen");
  expect_error({"--regime", "prefill", "--seq", "16,2000"}, "--seq");
  expect_error({"--regime", "diffusion"}, "diffusion");
  expect_error({"--device", "hots"}, "host");
  expect_error({"--fuse", "rms_norm,nonsense"}, "nonsense");
  for (const char* flag : {"--report-file", "--html", "--trace"}) expect_error({flag, "/nowhere/at/all"}, flag);
}

TEST(Bench, AModelThatIsNotRightIsNotMeasured) {
  const Scratch scratch;
  const std::string model = spoiled_bard(scratch), file = (scratch.path() / "r.json").string();
  const Outcome o = run_program(quick("bench", model, {"--report-file", file}));
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.err, "smoke gate failed, nothing was measured: ")) << o.err;
  const Json report = read_json_file(file);
  EXPECT_EQ(report["result"]["gate"]["smoke"]["passed"], false);
  EXPECT_TRUE(report["result"]["cases"].empty());
  EXPECT_TRUE(contains(report["result"]["incomplete"].get<std::string>(), "smoke gate"));

  const Outcome skipped = run_program(quick("bench", model, {"--report-file", file, "--skip", "smoke"}));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_EQ(read_json_file(file)["result"]["gate"]["smoke"], Json({{"skipped", "--skip smoke"}}));
}

TEST(Bench, RandomWeightsHaveNoGateAndTheReportSaysSo) {
  const Outcome o = run_program(
      quick("bench", "",
            {"--weights", "dummy", "--shape", "SmolLM2-135M", "--layers", "1", "--format", "json", "--arms", "eager"}));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(contains(parse_json(o.out, "")["result"]["gate"]["smoke"]["skipped"].get<std::string>(), "dummy"));
}

TEST(Bench, AFullDiskLosesTheFileOnly) {
  const Scratch scratch;
  std::filesystem::create_symlink("/dev/full", scratch.path() / "full");
  const std::string full = (scratch.path() / "full").string(), page = (scratch.path() / "r.html").string();
  const Outcome o = run_program(quick("bench", kBardModel, {"--report-file", full, "--html", page}));
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.out, "fused+graph")) << o.out;
  EXPECT_TRUE(contains(o.err, "No space left")) << o.err;
  EXPECT_TRUE(std::filesystem::exists(page));  // one file's failure does not keep the others
}

// A limit on file sizes stands for a disk that fills up half-way.
TEST(Bench, AReportIsThereWholeOrNotAtAll) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  std::string command = "trap '' XFSZ; ulimit -f 16; exec " TILEWRIGHT_BINARY_DIR "/tilewright";
  for (const std::string& word : quick("bench", kBardModel, {"--report-file", folder + "/r.json", "--quiet"}))
    command += " " + word;
  command = "sh -c \"" + command + "\" > /dev/null 2> " + folder + "/err";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(contains(read_text_file(folder + "/err"), "r.json"));
  EXPECT_EQ(scratch.entries(), 1u) << "only what stderr said";
}

TEST(Bench, AnInterruptShowsWhatThereIs) {
  const Scratch scratch;
  const std::string file = (scratch.path() / "r.json").string();
  bool sent = false;
  RunOptions options;
  options.on_error = [&](pid_t child, const std::string& text) {
    if (sent || !contains(text, "smoke: ")) return;
    sent = true;
    usleep(300000);
    kill(child, SIGINT);
  };
  const Outcome o = run_program(
      {"bench", kBardModel, "--gen", "200", "--iters", "100000", "--threads", "1", "--report-file", file}, options);
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_TRUE(contains(o.out, "INCOMPLETE")) << o.out;
  EXPECT_TRUE(read_json_file(file)["result"]["incomplete"].get<std::string>().starts_with("interrupted"));
}

}  // namespace
}  // namespace tilewright::test

// `tilewright port` as a user runs it.
#include <csignal>

#include "cli/bench_fixture.h"

namespace tilewright::test {
namespace {

std::vector<std::string> quick_port(const std::string& model, const std::string& folder,
                                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> out = quick("port", model, more);
  out.insert(out.end(), {"--output-dir", folder});
  return out;
}

std::string status_of(const Json& report, const std::string& step) {
  for (const Json& each : report["result"]["steps"])
    if (each["name"] == step) return each["status"];
  return "absent";
}

struct Folder {
  Scratch scratch;
  std::string path = (scratch.path() / "out").string();
  Json report() const { return read_json_file(path + "/report.json"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
};

TEST(Port, LeavesAReportAndSaysWhere) {
  const Folder folder;
  const Outcome o = run_program(quick_port(kBardModel, folder.path));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "fused+graph")) << o.out;
  expect_columns(o.out, 100);
  expect_plain_text(o.out);
  expect_plain_text(o.err);
  EXPECT_TRUE(contains(o.err, folder.path + "/report.html")) << o.err;
  EXPECT_EQ(folder.files(), 3u);  // report.json, report.html, model
  const Json report = folder.report();
  EXPECT_EQ(report["kind"], "port");
  for (const char* step : {"resolve", "patch", "smoke", "arms", "report"})
    EXPECT_EQ(status_of(report, step), "done") << step;
  EXPECT_EQ(status_of(report, "pull"), "skipped");
  EXPECT_EQ(report["result"]["bench"]["cases"][0]["arms"].size(), 4u);
  EXPECT_TRUE(contains(read_text_file(folder.path + "/report.html"), "fused+graph"));
}

TEST(Port, ResumeKeepsWhatIsDoneOfTheSameRunOnly) {
  const Folder folder;
  ASSERT_EQ(run_program(quick_port(kBardModel, folder.path, {"--resume"})).code, 0);  // nothing to resume: all is run
  const Json first = folder.report();
  EXPECT_EQ(status_of(first, "arms"), "done");
  std::filesystem::remove(folder.path + "/report.html");
  const Outcome again = run_program(quick_port(kBardModel, folder.path, {"--resume"}));
  EXPECT_EQ(again.code, 0) << again.err;
  Json second = folder.report();
  EXPECT_EQ(status_of(second, "smoke"), "reused");
  EXPECT_EQ(status_of(second, "arms"), "reused");
  EXPECT_EQ(second["result"]["bench"], first["result"]["bench"]);
  EXPECT_TRUE(std::filesystem::exists(folder.path + "/report.html"));

  const Outcome other = run_program(quick_port(kBardModel, folder.path, {"--resume", "--seed", "7"}));
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(contains(other.err, "settings.seed was 1 and is 7")) << other.err;
  EXPECT_EQ(status_of(folder.report(), "arms"), "done");

  ASSERT_EQ(run_program(quick_port(kBardModel, folder.path)).code, 0);  // without the flag, all is run
  EXPECT_EQ(status_of(folder.report(), "smoke"), "done");
}

// What is on disk when the program is ended in the middle: by Ctrl-C (all but the rest of the arms), or killed.
TEST(Port, AnEndInTheMiddleCanBeResumed) {
  for (const int signal : {SIGINT, SIGKILL}) {
    const Folder folder;
    bool sent = false;
    RunOptions options;
    options.on_error = [&](pid_t child, const std::string& text) {
      if (sent || !contains(text, "smoke: ")) return;
      sent = true;
      usleep(300000);
      kill(child, signal);
    };
    const std::vector<std::string> words = {"port",         kBardModel,  "--gen",   "100",       "--iters",
                                            "100000",       "--arms",    "eager",   "--threads", "1",
                                            "--output-dir", folder.path, "--resume"};
    const Outcome o = run_program(words, options);
    EXPECT_EQ(o.code, signal == SIGINT ? 130 : 128 + SIGKILL) << o.err;
    const Json report = folder.report();
    EXPECT_EQ(status_of(report, "smoke"), "done");
    EXPECT_EQ(status_of(report, "arms"), signal == SIGINT ? "interrupted" : "not run");
    EXPECT_EQ(std::filesystem::exists(folder.path + "/report.html"), signal == SIGINT);
    if (signal == SIGINT) {
      EXPECT_TRUE(contains(o.out, "INCOMPLETE")) << o.out;
      EXPECT_TRUE(contains(o.err, "--resume")) << o.err;
    }
    sent = false;
    const Outcome again = run_program(words, options);
    EXPECT_TRUE(contains(again.err, "reused")) << again.err;
  }
}

TEST(Port, AFailedGateEndsItAndIsReported) {
  const Folder folder;
  const std::string model = spoiled_bard(folder.scratch);
  const Outcome o = run_program(quick_port(model, folder.path));
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.err, "smoke gate failed, nothing was measured: ")) << o.err;
  const Json report = folder.report();
  EXPECT_EQ(status_of(report, "smoke"), "failed");
  EXPECT_EQ(status_of(report, "arms"), "not run");
  EXPECT_EQ(status_of(report, "report"), "done");
  EXPECT_TRUE(contains(read_text_file(folder.path + "/report.html"), "golden.safetensors"));

  const Outcome skipped = run_program(quick_port(model, folder.path, {"--skip", "smoke"}));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_EQ(status_of(folder.report(), "smoke"), "skipped");
  EXPECT_EQ(status_of(folder.report(), "arms"), "done");
}

TEST(Port, AModelThatCannotBeLoadedIsReported) {
  const Folder folder;
  std::filesystem::create_directory(folder.scratch.path() / "model");
  std::filesystem::create_symlink(kBardModel + "/config.json", folder.scratch.path() / "model" / "config.json");
  const Outcome o = run_program(quick_port((folder.scratch.path() / "model").string(), folder.path));
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(status_of(folder.report(), "smoke"), "failed");
  EXPECT_TRUE(contains(folder.report().dump(), "no weights in the model directory"));
}

TEST(Port, StepsCanBeSkipped) {
  const Folder folder;
  const Outcome gate = run_program(quick_port(kBardModel, folder.path, {"--skip", "arms"}));
  EXPECT_EQ(gate.code, 0) << gate.err;
  EXPECT_EQ(status_of(folder.report(), "arms"), "skipped");
  const Scratch other;
  const std::string unused = (other.path() / "out").string();
  const Outcome none = run_program(quick_port(kBardModel, unused, {"--skip", "report, arms"}));
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_FALSE(std::filesystem::exists(unused));
  EXPECT_EQ(run_program(quick_port(kBardModel, unused, {"--skip", "everything"})).code, 2);
}

TEST(Port, RandomWeightsHaveNoGateAndTheReportSaysSo) {
  const Folder folder;
  const Outcome o = run_program(quick_port(
      "", folder.path, {"--weights", "dummy", "--shape", "SmolLM2-135M", "--layers", "1", "--arms", "eager,graph"}));
  ASSERT_EQ(o.code, 0) << o.err;
  for (const char* step : {"pull", "patch", "smoke"}) EXPECT_EQ(status_of(folder.report(), step), "skipped") << step;
  EXPECT_TRUE(contains(folder.report()["result"]["bench"]["gate"]["smoke"]["skipped"].get<std::string>(), "dummy"));
}

TEST(Port, AModelMustBeNamed) { EXPECT_EQ(run_program({"port"}).code, 2); }

TEST(Port, AFolderThatCannotBeMadeIsSaidAtOnce) {
  const Scratch scratch;
  scratch.write("file", "");
  const Outcome o = run_program(quick_port(kBardModel, (scratch.path() / "file").string()));
  EXPECT_EQ(o.code, 1);
  EXPECT_FALSE(contains(o.err, "smoke: ")) << o.err;
  EXPECT_TRUE(contains(o.err, "--output-dir")) << o.err;
}

TEST(Port, AFullDiskStillShowsTheTable) {
  const Folder folder;
  std::filesystem::create_directory(folder.path);
  std::filesystem::create_symlink("/dev/full", folder.path + "/report.json");
  const Outcome o = run_program(quick_port(kBardModel, folder.path));
  EXPECT_EQ(o.code, 1);
  EXPECT_TRUE(contains(o.out, "fused+graph")) << o.out;
  EXPECT_TRUE(contains(o.err, "No space left")) << o.err;
  EXPECT_EQ(folder.files(), 2u);  // report.json, model
}

}  // namespace
}  // namespace tilewright::test

// `patch` and `unpatch` as users run them: streams, exit codes, the line for the shell, the warning when loading.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "cli/run_program.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

class PatchCommand : public ::testing::Test {
 public:
  PatchCommand() {
    std::string name = (fs::temp_directory_path() / "tilewright_patch_XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    root = fs::canonical(name);
    fs::copy(TILEWRIGHT_SOURCE_DIR "/assets/bard", root / "m");
    options.environment = {{"HF_HOME", root / "hf"}, {"HOME", root}, {"XDG_CACHE_HOME", root / "cache"}};
  }
  ~PatchCommand() override {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  std::string path(const std::string& name) const { return root / name; }
  Outcome run(const std::vector<std::string>& arguments) const { return run_program(arguments, options); }
  void expect_usage(const std::vector<std::string>& arguments, const std::string& part) const {
    const Outcome o = run(arguments);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  }

  fs::path root;
  RunOptions options;
};

TEST_F(PatchCommand, StdoutIsOneLineForTheShell) {
  const Outcome first = run({"patch", path("m")});
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, "export MODEL_PATH='" + path("m") + "'\n");
  EXPECT_NE(first.err.find("pinned to"), std::string::npos);
  const Outcome second = run({"patch", path("m")});
  EXPECT_EQ(second.out, first.out);
  EXPECT_NE(second.err.find("nothing to do"), std::string::npos);
  EXPECT_EQ(run({"patch", path("m"), "--quiet"}).err, "");
  const Json json = parse_json(run({"patch", path("m"), "--format", "json"}).out, "stdout");
  EXPECT_EQ(json["path"], path("m"));
  EXPECT_EQ(json["family"], "qwen3");
  EXPECT_EQ(json["nothing_to_do"], true);
  options.environment["MODEL_PATH"] = path("m");
  EXPECT_EQ(run({"patch"}).out, first.out);
  EXPECT_EQ(run({"unpatch"}).code, 0);
  EXPECT_FALSE(fs::exists(root / "m/.tilewright"));
}

TEST_F(PatchCommand, AnyPathSurvivesTheShell) {
  const fs::path odd = root / "it's \"$HOME\"\n`x`; exit 3 \\";
  fs::rename(root / "m", odd);
  const Outcome o = run({"patch", odd});
  ASSERT_EQ(o.code, 0) << o.err;
  std::ofstream(root / "script") << o.out << "printf %s \"$MODEL_PATH\" > '" << path("result") << "'\n";
  ASSERT_EQ(std::system(("sh '" + path("script") + "'").c_str()), 0);
  std::ifstream in(root / "result");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), odd.string());
}

TEST_F(PatchCommand, WrongUsage) {
  expect_usage({"patch"}, "MODEL_PATH");
  expect_usage({"patch", path("m"), "--status", "--copy", "a=b"}, "--status changes nothing, so it takes no --copy");
  expect_usage({"patch", path("m"), "--copy", "ab"}, "DEST=SRC");
  expect_usage({"patch", path("m"), "--copy", "=b"}, "DEST=SRC");
  expect_usage({"patch", path("m"), "--copy", "a=x", "--copy", "./a=y"}, "two files for a");
  expect_usage({"patch", path("m"), "--auto-map", "A"}, "NAME=MODULE.CLASS");
  expect_usage({"patch", path("m"), "--auto-map", "A=o/r--x.X"}, "another repository");
  expect_usage({"patch", path("m"), "--auto-map", "A=x.X", "--auto-map", "A=y.Y"}, "twice");
  expect_usage({"patch", path("m"), "--famly", "qwen3"}, "did you mean --family?");
  expect_usage({"unpatch", path("m"), "--copy", "a=b"}, "--copy");
  EXPECT_FALSE(fs::exists(root / "m/.tilewright"));
}

TEST_F(PatchCommand, FamiliesByTheNamesPeopleUse) {
  for (const char* name : {"qwen3", "Qwen3-1.7B", "qwen3_1.7b", "Qwen3", "Qwen/Qwen3-0.6B", "qwen3-8b-base"})
    EXPECT_EQ(run({"patch", path("m"), "--family", name}).code, 0) << name;
  for (const char* name : {"SmolLM2", "Llama-3.2-1B-Instruct", "llama"})
    EXPECT_NE(run({"patch", path("m"), "--family", name}).err.find("model_type llama"), std::string::npos) << name;
  const Outcome unknown = run({"patch", path("m"), "--family", "qwenn3"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("nearest one is qwen3"), std::string::npos) << unknown.err;
}

TEST_F(PatchCommand, LoadingWarnsOnceWhenFilesDiffer) {
  ASSERT_EQ(run({"patch", path("m")}).code, 0);
  const std::vector<std::string> ask{"ask", path("m"), "--prompt", "a", "--max-new-tokens", "1"};
  EXPECT_EQ(run(ask).err.find("warning"), std::string::npos);
  std::ofstream(root / "m/generation_config.json", std::ios::app) << "\n";
  const Outcome o = run(ask);
  EXPECT_EQ(o.code, 0);
  const std::size_t at = o.err.find("warning: a file is not what `tilewright patch` pinned: generation_config.json");
  ASSERT_NE(at, std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("a file is not what", at + 20), std::string::npos) << o.err;
  const Outcome status = run({"patch", path("m"), "--status"});
  EXPECT_EQ(status.code, 0);
  EXPECT_NE(status.out.find("generation_config.json (changed)"), std::string::npos) << status.out;
}

TEST_F(PatchCommand, AModelOfAnotherNameRunsAsTheFamilyItIsPinnedTo) {
  const Json config = [&] {
    Json json = read_json_file(root / "m/config.json");
    json["model_type"] = "custom";
    return json;
  }();
  std::ofstream(root / "m/config.json") << config.dump();
  const std::vector<std::string> ask{"ask", path("m"), "--prompt", "a", "--max-new-tokens", "1"};
  EXPECT_EQ(run(ask).code, 1);
  ASSERT_EQ(run({"patch", path("m"), "--family", "qwen3"}).code, 0);
  EXPECT_EQ(run(ask).code, 0);
}

TEST_F(PatchCommand, CtrlCTakesBackWhatWasBegun) {
  fs::create_directory(root / "src");
  std::ofstream(root / "src/large") << "x";
  fs::resize_file(root / "src/large", std::uintmax_t{256} << 20);  // takes longer to copy than to look for the copy
  const fs::path begun = root / "m/.tilewright/new";
  const pid_t pid = fork();
  if (pid == 0) {
    freopen("/dev/null", "w", stdout);
    freopen(path("err").c_str(), "w", stderr);
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    const std::string program = TILEWRIGHT_BINARY_DIR "/tilewright";
    execl(program.c_str(), program.c_str(), "patch", path("m").c_str(), "--copy", "x.bin=large", "--source-root",
          path("src").c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 30'000 && !fs::exists(begun); ++i) usleep(1000);
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  std::ifstream err(root / "err");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(err), {}),
            "tilewright: interrupted; what was begun is taken back\n");
  EXPECT_FALSE(fs::exists(root / "m/.tilewright"));
  EXPECT_FALSE(fs::exists(root / "m/x.bin"));
}

}  // namespace
}  // namespace tilewright::test

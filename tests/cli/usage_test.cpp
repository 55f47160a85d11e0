// Exit codes, and which stream says what.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_program.h"

namespace tilewright::test {
namespace {

const std::string kBard = TILEWRIGHT_SOURCE_DIR "/assets/bard";

void expect_wrong_usage(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome o = run_program(arguments);
  EXPECT_EQ(o.code, 2) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << o.err;
}

void expect_error(const std::vector<std::string>& arguments, const std::string& part, const RunOptions& options = {}) {
  const Outcome o = run_program(arguments, options);
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_LE(std::count(o.err.begin(), o.err.end(), '\n'), 4) << o.err;
  EXPECT_NE(o.err.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << o.err;
}

TEST(Usage, HelpAndVersionGoToStdout) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"}, {"--version"}, {"ask", "--help"}, {"check", "--help"}}) {
    const Outcome o = run_program(words);
    EXPECT_EQ(o.code, 0) << words[0];
    EXPECT_FALSE(o.out.empty());
    EXPECT_EQ(o.err, "");
  }
  const std::string help = run_program({"--help"}).out;
  for (const char* command : {"ask", "check", "import", "tokenize", "render", "doctor"})
    EXPECT_NE(help.find(command), std::string::npos) << command;
}

TEST(Usage, WrongCommandsAndFlags) {
  expect_wrong_usage({}, "command");
  expect_wrong_usage({"aks"}, "did you mean ask?");
  expect_wrong_usage({"xyzzy"}, "unknown command xyzzy");
  expect_wrong_usage({"--vesion"}, "--version");
  expect_wrong_usage({"ask", kBard, "--promt", "hi"}, "did you mean --prompt?");
  expect_wrong_usage({"ask", kBard, "--prompt", "hi", "--max_new_tokens=3"}, "did you mean --max-new-tokens?");
  expect_wrong_usage({"ask", kBard, "--prompt", "hi", "--zzz"}, "unknown flag --zzz");
  expect_wrong_usage({"ask", kBard}, "--prompt");
  expect_wrong_usage({"check", kBard}, "--golden");
}

TEST(Usage, WrongValues) {
  const std::vector<std::string> base{"ask", kBard, "--prompt", "hi"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  expect_wrong_usage(with({"--max-new-tokens", "0"}), "--max-new-tokens");
  expect_wrong_usage(with({"--max-new-tokens", "many"}), "--max-new-tokens");
  expect_wrong_usage(with({"--dtype", "f8"}), "--dtype");
  expect_wrong_usage(with({"--threads", "0"}), "--threads");
  expect_wrong_usage(with({"--temperature", "hot"}), "--temperature");
  expect_wrong_usage(with({"--shape", "Qwen3-0.6B"}), "--weights dummy");
  expect_wrong_usage({"ask", "--weights", "dummy", "--prompt", "hi"}, "--shape");
  expect_wrong_usage({"ask", "--prompt", "hi"}, "MODEL_PATH");
}

TEST(Usage, MistakesOfTheEnvironment) {
  expect_error({"ask", "/nowhere", "--prompt", "hi"}, "/nowhere");
  expect_error({"ask", kBard + "/config.json", "--prompt", "hi"}, "not a directory");
  expect_error({"ask", "--prompt", "hi"}, "/nowhere", {.environment = {{"MODEL_PATH", "/nowhere"}}});
  expect_error({"ask", kBard, "--prompt", "hi", "--device", "gpu"}, "host");
  expect_error({"ask", kBard, "--prompt", "hi", "--fuse", "everything"}, "rms_norm");
  expect_error({"ask", kBard, "--prompt", "hi", "--top-p", "1.5"}, "--top-p");
  expect_error({"ask", kBard, "--prompt", ""}, "prompt is empty");
  expect_error({"ask", kBard, "--prompt", "-", "--threads", "1"}, "longer than the context",
               {.input = std::string(40000, 'z')});
  expect_error({"ask", "--weights", "dummy", "--shape", "Qwen3-1.8B", "--prompt", "hi"}, "did you mean Qwen3-1.7B?");
  expect_error({"check", kBard, "--golden", "/nowhere.safetensors"}, "/nowhere.safetensors");
  expect_error({"check", kBard, "--golden", kBard + "/model.safetensors"}, "not a golden");
}

TEST(Usage, AFullDiskIsAnError) {
  const Outcome o =
      run_program({"ask", kBard, "--prompt", "hi", "--max-new-tokens", "4"}, {.stdout_path = "/dev/full"});
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("could not be written"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace tilewright::test

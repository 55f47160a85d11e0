// Exit codes, and which stream says what.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/mapped_file.h"
#include "cli/run_program.h"

namespace tilewright::test {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright_usage_XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

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

TEST(Usage, AFullDiskIsAnErrorOfEveryCommand) {
  const std::string golden = TILEWRIGHT_SOURCE_DIR "/assets/bard/golden.safetensors";
  const TemporaryDirectory folder;
  const std::string chat = folder.write("chat.jinja", "{{ messages[0].content }}");
  const std::string messages = folder.write("messages.json", R"([{"role": "user", "content": "hi"}])");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ask", kBard, "--prompt", "hi", "--max-new-tokens", "4"},
        {"check", kBard, "--golden", golden},
        {"tokenize", kBard},
        {"render", chat, "--messages", messages},
        {"--help"},
        {"--version"}}) {
    const Outcome o = run_program(words, {.input = "To be", .stdout_path = "/dev/full"});
    EXPECT_EQ(o.code, 1) << words[0] << o.err;
    EXPECT_NE(o.err.find("could not be written"), std::string::npos) << words[0] << o.err;
  }
}

// A write may fail long before the last one, which then has nothing left to do.
TEST(Usage, AFullDiskIsAnErrorOfLongOutputToo) {
  const Outcome o = run_program({"tokenize", kBard}, {.input = std::string(60000, 'z'), .stdout_path = "/dev/full"});
  EXPECT_EQ(o.code, 1) << o.err;
}

TEST(Usage, NumbersBeyondTheirRangeAreNotClamped) {
  for (const char* seed : {"-1", "18446744073709551616", "1.5", ""})
    expect_wrong_usage({"ask", kBard, "--prompt", "hi", "--seed", seed}, "--seed");
  expect_wrong_usage({"ask", kBard, "--prompt", "hi", "--top-k", "999999999999999999999"}, "--top-k");
  expect_wrong_usage({"import", "x.gguf", "--output-dir", ""}, "--output-dir");
  expect_wrong_usage({"tokenize", "", "x"}, "empty");
}

TEST(Usage, AnUnreadableStdinIsNotAnEmptyOne) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"ask", kBard, "--prompt", "-"},
                                                {"tokenize", kBard},
                                                {"render", kBard, "--messages", "-"}})
    expect_error(words, "stdin: cannot be read", {.stdin_path = "/"});
}

TEST(Usage, APipeWithoutWriterDoesNotHang) {
  const TemporaryDirectory folder;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "model.safetensors"}) {
    const TemporaryDirectory model;
    for (const auto& file : std::filesystem::directory_iterator(kBard))
      if (file.path().filename() != name)
        std::filesystem::create_symlink(file.path(), model.path() / file.path().filename());
    ASSERT_EQ(mkfifo((model.path() / name).c_str(), 0600), 0);
    expect_error({"ask", model.path().string(), "--prompt", "hi"}, name);
  }
}

TEST(Usage, ControlCharactersOfFilesDoNotReachTheTerminal) {
  const TemporaryDirectory folder;
  folder.write("config.json", R"({"model_type": "\u001b[31mred\u0007\u009b\u00e9"})");
  for (const char* name : {"tokenizer.json", "model.safetensors"})
    std::filesystem::create_symlink(kBard + "/" + name, folder.path() / name);
  expect_error({"ask", folder.path().string(), "--prompt", "hi"}, "\\x1b[31mred\\x07\\x9b\u00e9");
}

TEST(Usage, MoreMemoryThanThereIsIsRefusedBeforeItIsUsed) {
  expect_error({"ask", "--weights", "dummy", "--shape", "Llama-3.1-405B", "--prompt", "hi"}, "not enough memory");
  const TemporaryDirectory folder;
  for (const auto& file : std::filesystem::directory_iterator(kBard))
    if (file.path().filename() != "config.json")
      std::filesystem::create_symlink(file.path(), folder.path() / file.path().filename());
  std::string config = read_text_file(kBard + "/config.json");
  const std::string before = "\"max_position_embeddings\": 1024";
  ASSERT_NE(config.find(before), std::string::npos);
  config.replace(config.find(before), before.size(), "\"max_position_embeddings\": 2000000000");
  folder.write("config.json", config);
  expect_error({"ask", folder.path().string(), "--prompt", "hi", "--ctx", "1900000000"},
               "no memory for the key-value cache");
}

TEST(Usage, AReportReplacesFilesOnly) {
  const TemporaryDirectory folder;
  const std::vector<std::string> ask{"ask", kBard, "--prompt", "hi", "--max-new-tokens", "2", "--report-file"};
  const auto with = [&](const std::string& file) {
    std::vector<std::string> words = ask;
    words.push_back(file);
    return words;
  };
  expect_error(with(folder.path().string()), "found a folder");
  expect_error(with((folder.path() / "none" / "r.json").string()), "no such folder");
  std::filesystem::create_symlink("/dev/full", folder.path() / "full");
  const Outcome full = run_program(with((folder.path() / "full").string()));
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  folder.write("target.json", "old");
  std::filesystem::create_symlink("target.json", folder.path() / "link.json");
  EXPECT_EQ(run_program(with((folder.path() / "link.json").string())).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.json"));
  EXPECT_NE(read_text_file(folder.path() / "target.json").find("\"ask\""), std::string::npos);
}

}  // namespace
}  // namespace tilewright::test

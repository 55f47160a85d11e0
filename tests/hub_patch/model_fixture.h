// A model's directory in a temporary folder, and a whole tree as a value.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "hub/patch/patch.h"

namespace tilewright::hub::test {

class TemporaryModel {
 public:
  TemporaryModel() {
    // In memory where there is such a place: every step waits for the disk.
    const bool memory = access("/dev/shm", W_OK) == 0;
    const std::filesystem::path place = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (place / "tilewright_patch_XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    root_ = std::filesystem::canonical(name);
    std::filesystem::create_directory(model());
  }
  ~TemporaryModel() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path model() const { return root_ / "m"; }
  // A path below the root.
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(root_ / name, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }
  Environment environment() const {
    return [modules = (root_ / "modules").string()](const std::string& name) -> std::optional<std::string> {
      if (name == "HF_MODULES_CACHE") return modules;
      return std::nullopt;
    };
  }
  // A published model: remote code named by both files, and a tokenizer.
  void publish() const {
    write("m/config.json",
          "{\n  \"model_type\": \"qwen3\",\n  \"auto_map\": {\n    \"AutoModel\": \"o/r--modeling_x.XModel\"\n  },\n  "
          "\"hidden_size\":   8\n}\n");
    write("m/tokenizer_config.json", "{\"auto_map\": {\"AutoTokenizer\": [\"o/r--tok.T\", null]}, \"x\": 1}");
    write("m/tokenizer.json", "{}");
    write("m/model.safetensors", "weights");
    write("m/sub/extra.json", "{}");
  }

 private:
  std::filesystem::path root_;
};

// Everything below a folder: mode, time and bytes of files, texts of links, names of folders.
inline std::map<std::string, std::string> tree(const std::filesystem::path& folder, bool times = true) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat info {};
    lstat(entry.path().c_str(), &info);
    std::string text = std::to_string(info.st_mode) + " ";
    if (S_ISLNK(info.st_mode)) text += std::filesystem::read_symlink(entry.path()).string();
    if (S_ISREG(info.st_mode)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream bytes;
      bytes << in.rdbuf();
      text += bytes.str();
      if (times) text += " " + std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
    }
    out[entry.path().lexically_relative(folder).string()] = text;
  }
  return out;
}

inline Families three_families() {
  return {.names =
              [] {
                return std::vector<std::string>{"qwen3", "qwen2", "llama"};
              },
          .find = [](const std::string& name) -> std::optional<std::string> {
            if (name == "Qwen3-1.7B" || name == "qwen3") return "qwen3";
            if (name == "llama" || name == "qwen2") return name;
            return std::nullopt;
          }};
}

// Runs `action` in another process that is killed before its `step`-th step. True if it was, false if it came to its
// end before.
template <typename Action>
bool killed_at(int step, const Action& action) {
  const pid_t child = fork();
  if (child == 0) {
    int left = step;
    const StepHook hook = [&](const std::string&) {
      if (--left < 0) _exit(137);
    };
    try {
      action(hook);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 137)) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) == 137;
}

// The message of the Error that `action` throws; empty if it throws none.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace tilewright::hub::test

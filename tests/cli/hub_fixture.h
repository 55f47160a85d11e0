// A hub on this machine and a home of its own for the programs that tests run: the user's caches are never touched.
#pragma once

#include <map>
#include <set>
#include <string>

#include "cli/bench_fixture.h"
#include "hub_server/hub_server.h"

namespace tilewright::test {

struct HubHome {
  HubServer server;
  Scratch scratch;

  std::map<std::string, std::string> environment() const {
    return {{"HOME", scratch.path().string()},
            {"HF_HOME", (scratch.path() / "hf").string()},
            {"HF_HUB_CACHE", (scratch.path() / "hf" / "hub").string()},
            {"HF_MODULES_CACHE", (scratch.path() / "hf" / "modules").string()},
            {"HF_ENDPOINT", server.endpoint()},
            {"HF_TOKEN", ""},
            {"HUGGING_FACE_HUB_TOKEN", ""},
            {"HF_TOKEN_PATH", (scratch.path() / "no-token").string()},
            {"HF_HUB_OFFLINE", ""},
            {"TRANSFORMERS_OFFLINE", ""},
            {"HF_HUB_DISABLE_PROGRESS_BARS", ""},
            {"HF_HUB_DISABLE_SYMLINKS", ""},
            {"http_proxy", ""},
            {"all_proxy", ""}};
  }
  Outcome run(const std::vector<std::string>& arguments, std::map<std::string, std::string> more = {},
              RunOptions options = {}) const {
    more.merge(environment());
    options.environment = std::move(more);
    return run_program(arguments, options);
  }
  // The path that the line for the shell names, as a shell reads it.
  std::string path_from(const std::string& line) const {
    const std::filesystem::path script =
        scratch.write("line.sh", "eval \"$(cat \"$1\")\"\nprintf %s \"$MODEL_PATH\"\n");
    const std::filesystem::path text = scratch.write("line.txt", line);
    FILE* shell = popen(("sh '" + script.string() + "' '" + text.string() + "'").c_str(), "r");
    std::string out;
    char buffer[4096];
    for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, shell)) > 0;) out.append(buffer, n);
    EXPECT_EQ(pclose(shell), 0);
    return out;
  }
  // Everything below the home: names, and what files hold.
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> out;
    for (const auto& each : std::filesystem::recursive_directory_iterator(scratch.path()))
      out[each.path().string()] = each.is_regular_file() ? read_text_file(each.path()) : "";
    return out;
  }
};

// Small files and two of some megabytes.
inline HubRepository small_repository(const std::string& id = "org/small") {
  HubRepository out{.id = id};
  out.files = {{.path = "config.json", .bytes = "{\"model_type\": \"qwen3\"}"},
               {.path = "model-00001-of-00002.safetensors", .bytes = {}, .lfs = true, .made_size = 600000},
               {.path = "model-00002-of-00002.safetensors", .bytes = {}, .lfs = true, .made_size = 400000},
               {.path = "tokenizer.json", .bytes = "{}"}};
  return out;
}

inline HubRepository bard_repository() {
  HubRepository out{.id = "org/bard"};
  for (const auto& file : std::filesystem::directory_iterator(kBardModel))
    out.files.push_back({.path = file.path().filename().string(),
                         .bytes = read_text_file(file.path()),
                         .lfs = file.path().extension() == ".safetensors"});
  return out;
}

}  // namespace tilewright::test

// What the tests of `bench` and `port` share: quick settings, and a bard that is not right.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/run_program.h"
#include "report/table.h"
#include "safetensors/scratch.h"

namespace tilewright::test {

using hub::Scratch;

inline const std::string kBardModel = TILEWRIGHT_SOURCE_DIR "/assets/bard";

// `command MODEL --gen 4 …`: a second or less. In f32, whose bound on an arm's outputs does not hang on so few tokens.
inline std::vector<std::string> quick(const std::string& command, const std::string& model,
                                      const std::vector<std::string>& more = {}) {
  std::vector<std::string> out = {command};
  if (!model.empty()) out.push_back(model);
  const std::pair<const char*, const char*> usual[] = {{"--gen", "4"},   {"--prompt-len", "4"}, {"--warmup", "0"},
                                                       {"--iters", "1"}, {"--threads", "1"},    {"--dtype", "f32"}};
  for (const auto& [flag, value] : usual)
    if (std::find(more.begin(), more.end(), flag) == more.end()) out.insert(out.end(), {flag, value});
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// Bard with norms of another epsilon: finite, and different from its golden.
inline std::string spoiled_bard(const Scratch& scratch) {
  const std::filesystem::path model = scratch.path() / "spoiled";
  std::filesystem::create_directory(model);
  for (const auto& file : std::filesystem::directory_iterator(kBardModel))
    if (file.path().filename() != "config.json")
      std::filesystem::create_symlink(file.path(), model / file.path().filename());
  Json config = read_json_file(kBardModel + "/config.json");
  config["rms_norm_eps"] = 0.5;
  std::ofstream(model / "config.json") << config;
  return model.string();
}

inline void expect_plain_text(const std::string& text) {
  for (const char c : text) ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << text;
}

inline void expect_columns(const std::string& text, int most) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    EXPECT_LE(report::display_width(line), most) << line;
    begin = end + 1;
  }
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tilewright::test

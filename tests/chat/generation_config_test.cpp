#include "hub/generation_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilewright::hub {
namespace {

class GenerationConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) /
           ("generation_config_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void write(const char* name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  std::string error() {
    try {
      GenerationConfig::load(dir_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::filesystem::path dir_;
};

TEST_F(GenerationConfigTest, NoFileGivesDefaults) {
  EXPECT_EQ(GenerationConfig::load(dir_), GenerationConfig{});
  write("generation_config.json", "{}");
  EXPECT_EQ(GenerationConfig::load(dir_), GenerationConfig{});
}

TEST_F(GenerationConfigTest, ReadsEveryField) {
  write("generation_config.json",
        R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.05, "typical_p": 0.9,
    "repetition_penalty": 1.1, "no_repeat_ngram_size": 3, "max_length": 100, "max_new_tokens": 7, "min_new_tokens": 2, "stop_strings": ["a", "b"],
    "suppress_tokens": [5, 6], "bad_words_ids": [[1, 2], [3]], "pad_token_id": 9, "bos_token_id": 8, "eos_token_id": [1, 2],
    "transformers_version": "4.51.0", "_from_model_config": true})");
  GenerationConfig expected;
  expected.do_sample = true;
  expected.temperature = 0.6;
  expected.top_k = 20;
  expected.top_p = 0.95;
  expected.min_p = 0.05;
  expected.typical_p = 0.9;
  expected.repetition_penalty = 1.1;
  expected.no_repeat_ngram_size = 3;
  expected.max_length = 100;
  expected.max_new_tokens = 7;
  expected.min_new_tokens = 2;
  expected.stop_strings = {"a", "b"};
  expected.suppress_tokens = {5, 6};
  expected.bad_words_ids = {{1, 2}, {3}};
  expected.pad_token_id = 9;
  expected.bos_token_id = 8;
  expected.eos_token_ids = {1, 2};
  EXPECT_EQ(GenerationConfig::load(dir_), expected);
}

TEST_F(GenerationConfigTest, EndIdsAreTheUnionOfAllFiles) {
  write("generation_config.json", R"({"eos_token_id": [3, 1, 3]})");
  write("config.json", R"({"eos_token_id": 1, "bos_token_id": 4, "text_config": {"eos_token_id": [7, 3]}})");
  EXPECT_EQ(GenerationConfig::load(dir_).eos_token_ids, (std::vector<std::int64_t>{3, 1, 7}));
  EXPECT_EQ(GenerationConfig::load(dir_).bos_token_id, 4);
  write("generation_config.json", R"({"eos_token_id": null, "pad_token_id": -1, "min_p": null})");
  EXPECT_EQ(GenerationConfig::load(dir_).eos_token_ids, (std::vector<std::int64_t>{1, 7, 3}));
  EXPECT_EQ(GenerationConfig::load(dir_).pad_token_id, std::nullopt);
}

TEST_F(GenerationConfigTest, WrongValuesNameFileAndField) {
  const std::pair<const char*, const char*> bad[] = {
      {"do_sample", "1"},
      {"temperature", "\"hot\""},
      {"temperature", "-1"},
      {"top_p", "1.5"},
      {"top_p", "true"},
      {"top_k", "2.5"},
      {"top_k", "-1"},
      {"repetition_penalty", "0"},
      {"eos_token_id", "\"</s>\""},
      {"eos_token_id", "[1, \"x\"]"},
      {"eos_token_id", "1e3"},
      {"eos_token_id", "4294967296"},
      {"eos_token_id", "18446744073709551615"},
      {"max_new_tokens", "[]"},
      {"stop_strings", "[1]"},
      {"suppress_tokens", "3"},
      {"bad_words_ids", "[3]"},
      {"pad_token_id", "true"},
  };
  for (const auto& [field, value] : bad) {
    write("generation_config.json", std::string("{\"") + field + "\": " + value + "}");
    const std::string message = error();
    EXPECT_NE(message.find(field), std::string::npos) << field << ": " << value << "\n" << message;
    EXPECT_NE(message.find("generation_config.json"), std::string::npos) << message;
  }
  write("generation_config.json", "[1]");
  EXPECT_NE(error().find("not a JSON object"), std::string::npos);
  write("generation_config.json", "{}");
  write("config.json", R"({"text_config": {"eos_token_id": {}}})");
  EXPECT_NE(error().find("text_config"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::hub

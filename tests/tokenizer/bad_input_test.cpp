// Damaged and foreign tokenizer.json files: an Error that names what, where, what was expected and found.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/mapped_file.h"
#include "tokenizer/tokenizer_maker.h"

namespace tilewright::hub {
namespace {

ErrorText error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.text();
  }
  ADD_FAILURE() << "no error";
  return {};
}

struct Case {
  std::string name;
  std::function<void(Json&)> damage;
  std::string what, where;  // parts of the message
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"WordPiece", [](Json& j) { j["model"]["type"] = "WordPiece"; }, "unsupported tokenizer model",
       "made.json: model"},
      {"Unigram",
       [](Json& j) {
         j["model"] = {{"type", "Unigram"}, {"vocab", Json::array()}};
       },
       "unsupported tokenizer model", "made.json: model"},
      {"NoModel", [](Json& j) { j.erase("model"); }, "field \"model\" is missing", "made.json"},
      {"NoVocab", [](Json& j) { j["model"].erase("vocab"); }, "field \"vocab\" is missing", "model"},
      {"NoMerges", [](Json& j) { j["model"].erase("merges"); }, "field \"merges\" is missing", "model"},
      {"Version", [](Json& j) { j["version"] = "2.0"; }, "unsupported version", "version"},
      {"NotAnObject", [](Json& j) { j = Json::array(); }, "wrong type", "made.json"},
      {"VocabArray", [](Json& j) { j["model"]["vocab"] = Json::array(); }, "wrong type", "model.vocab"},
      {"IdString", [](Json& j) { j["model"]["vocab"]["th"] = "256"; }, "id beyond range or not a number",
       "model.vocab[\"th\"]"},
      {"IdNegative", [](Json& j) { j["model"]["vocab"]["th"] = -1; }, "id beyond range", "model.vocab[\"th\"]"},
      {"IdHuge", [](Json& j) { j["model"]["vocab"]["th"] = 4294967297; }, "id beyond range", "model.vocab[\"th\"]"},
      {"IdTwice", [](Json& j) { j["model"]["vocab"]["th"] = 257; }, "two tokens have one id", "model.vocab"},
      {"MergeOfUnknown", [](Json& j) { j["model"]["merges"].push_back("qq u"); },
       "names a token that the vocabulary lacks", "model.merges[3]"},
      {"MergeWithoutProduct", [](Json& j) { j["model"]["merges"].push_back("q u"); },
       "makes a token that the vocabulary lacks", "model.merges[3]"},
      {"MergeOfThree", [](Json& j) { j["model"]["merges"].push_back("t h e"); }, "not two tokens", "model.merges[3]"},
      {"MergeNumber", [](Json& j) { j["model"]["merges"].push_back(3); }, "neither a string nor a pair",
       "model.merges[3]"},
      {"MergeTriple",
       [](Json& j) {
         j["model"]["merges"].push_back({"t", "h", "e"});
       },
       "neither a string nor a pair", "model.merges[3]"},
      {"Dropout", [](Json& j) { j["model"]["dropout"] = 0.1; }, "unsupported dropout", "model.dropout"},
      {"FlagString", [](Json& j) { j["model"]["byte_fallback"] = "yes"; }, "wrong type", "model.byte_fallback"},
      {"AddedNegative", [](Json& j) { j["added_tokens"][0]["id"] = -5; }, "id beyond range", "added_tokens[0]"},
      {"AddedWithoutContent", [](Json& j) { j["added_tokens"][0].erase("content"); }, "field \"content\" is missing",
       "added_tokens[0]"},
      {"AddedNoFreeId", [](Json& j) { j["model"]["vocab"]["extra"] = 260; }, "no free id", "added_tokens[0]"},
      {"Normalizer",
       [](Json& j) {
         j["normalizer"] = {{"type", "Precompiled"}};
       },
       "unsupported normalizer", "normalizer"},
      {"PreTokenizer",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "UnicodeScripts"}}}}};
       },
       "unsupported pre-tokenizer", "pre_tokenizer.pretokenizers[0]"},
      {"PostProcessor",
       [](Json& j) {
         j["post_processor"] = {{"type", "Magic"}};
       },
       "unsupported post-processor", "post_processor"},
      {"Decoder",
       [](Json& j) {
         j["decoder"] = {{"type", "CTC"}};
       },
       "unsupported decoder", "decoder"},
      {"Behavior",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Merged"}};
       },
       "unsupported split behaviour", "pre_tokenizer.behavior"},
      {"EmptyPattern",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}};
       },
       "empty pattern", "pre_tokenizer.pattern.String"},
      {"BadRegex",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}};
       },
       "not understood", "pre_tokenizer.pattern.Regex"},
      {"ClassIntersection",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "[a-z&&[^x]]"}}}, {"behavior", "Isolated"}};
       },
       "unsupported construct", "pre_tokenizer.pattern.Regex"},
      {"TemplateToken",
       [](Json& j) {
         j["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}}},
                                {"special_tokens", Json::object()}};
       },
       "field \"<s>\" is missing", "post_processor.special_tokens"},
      {"Metaspace",
       [](Json& j) {
         j["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "ab"}};
       },
       "not one character", "pre_tokenizer.replacement"},
  };
  return all;
}

TEST(BadTokenizer, NamesWhatAndWhere) {
  for (const Case& item : cases()) {
    Json json = byte_level_json();
    item.damage(json);
    const ErrorText text = error_of([&] { made(json); });
    EXPECT_NE(text.what.find(item.what), std::string::npos) << item.name << ": " << text.what;
    EXPECT_NE(text.where.find(item.where), std::string::npos) << item.name << ": " << text.where;
    EXPECT_NE(text.where.find("made.json"), std::string::npos) << item.name << ": " << text.where;
    EXPECT_FALSE(text.expected.empty()) << item.name;
  }
}

TEST(BadTokenizer, EveryTruncationIsAnError) {
  const std::string json = byte_level_json().dump();
  for (std::size_t size = 0; size < json.size(); size += 7) {
    const ErrorText text = error_of([&] { Tokenizer::parse(json.substr(0, size), "cut.json"); });
    EXPECT_NE(text.where.find("cut.json"), std::string::npos);
  }
}

TEST(BadTokenizer, ListedTwice) {
  std::string json = byte_level_json().dump();
  const std::size_t at = json.find("\"th\":256");
  ASSERT_NE(at, std::string::npos);
  json.insert(at, "\"th\":300,");
  EXPECT_EQ(error_of([&] { Tokenizer::parse(json, "made.json"); }).what, "a token is listed twice");
}

TEST(BadTokenizer, MissingFile) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tilewright_no_tokenizer";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(error_of([&] { Tokenizer::load(folder); }).what, "no tokenizer");
  EXPECT_NE(error_of([&] { Tokenizer::load(folder / "none.json"); }).where.find("none.json"), std::string::npos);
}

TEST(BadTokenizer, RunawayRegexIsAnError) {
  Json json = byte_level_json();
  json["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(?:a|aa)+(?=b)"}}}, {"behavior", "Isolated"}};
  const Tokenizer tokenizer = made(json);
  EXPECT_EQ(tokenizer.encode("aab", false).size(), 3u);
  const ErrorText text = error_of([&] { tokenizer.encode(std::string(5000, 'a'), false); });
  EXPECT_NE(text.what.find("gave up"), std::string::npos);
}

TEST(BadTokenizer, ReplacementBombIsAnError) {
  Json bomb = Json::array();
  for (int i = 0; i < 20; ++i) {
    bomb.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(40, 'a')}});
  }
  Json json = byte_level_json();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", bomb}};
  const Tokenizer tokenizer = made(json);
  EXPECT_NE(error_of([&] { tokenizer.encode("a", false); }).what.find("too long"), std::string::npos);
  json = byte_level_json();
  json["decoder"] = {{"type", "Sequence"}, {"decoders", bomb}};
  const Tokenizer decoder = made(json);
  EXPECT_NE(error_of([&] { decoder.decode(std::vector<std::int32_t>{'a'}, false); }).what.find("too long"),
            std::string::npos);
}

}  // namespace
}  // namespace tilewright::hub

// Edits of one member: every other byte stays, and the value is what an edit of the parsed text would give.
#include "hub/patch/json_edit.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.h"

namespace tilewright::hub {
namespace {

const Json kLocal = {{"AutoConfig", "configuration_x.XConfig"}};

std::string set_in(std::string_view text, const Json& value = kLocal) {
  return with_member(text, "auto_map", value, "config.json");
}
std::string without_in(std::string_view text) { return with_member(text, "auto_map", std::nullopt, "config.json"); }

TEST(JsonEdit, ReplacesTheValueAlone) {
  EXPECT_EQ(
      set_in("{\n  \"a\": 1,\n  \"auto_map\": {\n    \"AutoModel\": \"r--m.X\"\n  },\n  \"b\": 1.50\n}\n"),
      "{\n  \"a\": 1,\n  \"auto_map\": {\n    \"AutoConfig\": \"configuration_x.XConfig\"\n  },\n  \"b\": 1.50\n}\n");
}

TEST(JsonEdit, KeepsLineEndsTabsAndAMissingLastOne) {
  const std::string before = "{\r\n\t\"a\": 1e400,\r\n\t\"auto_map\": 3,\r\n\t\"z\": \"\\u00e9\\/\"\r\n}";
  EXPECT_EQ(set_in(before),
            "{\r\n\t\"a\": 1e400,\r\n\t\"auto_map\": {\r\n\t\t\"AutoConfig\": "
            "\"configuration_x.XConfig\"\r\n\t},\r\n\t\"z\": "
            "\"\\u00e9\\/\"\r\n}");
  EXPECT_EQ(without_in(before), "{\r\n\t\"a\": 1e400,\r\n\t\"z\": \"\\u00e9\\/\"\r\n}");
}

TEST(JsonEdit, RemovesFirstMiddleLastAndOnly) {
  EXPECT_EQ(without_in("{\n  \"auto_map\": {},\n  \"b\": 2\n}"), "{\n  \"b\": 2\n}");
  EXPECT_EQ(without_in("{\n  \"a\": 1,\n  \"auto_map\": {},\n  \"b\": 2\n}"), "{\n  \"a\": 1,\n  \"b\": 2\n}");
  EXPECT_EQ(without_in("{\n  \"a\": 1,\n  \"auto_map\": {}\n}"), "{\n  \"a\": 1\n}");
  EXPECT_EQ(without_in("{\n  \"auto_map\": {}\n}\n"), "{\n}\n");
  EXPECT_EQ(without_in("{\"auto_map\":{}}"), "{}");
  EXPECT_EQ(without_in("{\"a\":1,\"auto_map\":{},\"b\":2}"), "{\"a\":1,\"b\":2}");
}

TEST(JsonEdit, AddsInTheStyleOfItsSurroundings) {
  EXPECT_EQ(set_in("{\"a\":1}"), "{\"a\":1,\"auto_map\":{\"AutoConfig\":\"configuration_x.XConfig\"}}");
  EXPECT_EQ(set_in("{\"a\": 1}"), "{\"a\": 1, \"auto_map\": {\"AutoConfig\": \"configuration_x.XConfig\"}}");
  EXPECT_EQ(set_in("{\n\t\"a\": 1\n}"),
            "{\n\t\"a\": 1,\n\t\"auto_map\": {\n\t\t\"AutoConfig\": \"configuration_x.XConfig\"\n\t}\n}");
  EXPECT_EQ(Json::parse(set_in("{}"))["auto_map"], kLocal);
  EXPECT_EQ(Json::parse(set_in(" { \n } "))["auto_map"], kLocal);
}

TEST(JsonEdit, OnlyTheTopLevelMemberIsMeant) {
  const std::string text =
      R"({"x": {"auto_map": {"A": "r--m.X"}}, "s": "\"auto_map\": 1", "l": ["auto_map", {"auto_map": 2}]})";
  EXPECT_EQ(without_in(text), text);
  EXPECT_FALSE(member_of(text, "auto_map", "config.json"));
}

TEST(JsonEdit, TheKeyMayBeWrittenWithEscapes) {
  const std::string text = R"({"a": 1, "auto\u005fmap": {"A": "r--m.X"}})";
  EXPECT_EQ(member_of(text, "auto_map", "config.json"), Json({{"A", "r--m.X"}}));
  EXPECT_EQ(without_in(text), R"({"a": 1})");
  EXPECT_EQ(set_in(text), R"({"a": 1, "auto\u005fmap": {"AutoConfig": "configuration_x.XConfig"}})");
}

TEST(JsonEdit, LeavesWhatReadersOfNumbersRefuse) {
  const std::string text =
      "\xEF\xBB\xBF{\"a\": 1, \"a\": -1e999, \"n\": NaN, \"i\": [Infinity, -Infinity], \"auto_map\": 1}";
  EXPECT_EQ(without_in(text), "\xEF\xBB\xBF{\"a\": 1, \"a\": -1e999, \"n\": NaN, \"i\": [Infinity, -Infinity]}");
}

TEST(JsonEdit, SameTextIfNothingChanges) {
  const std::string text = "{ \"auto_map\" :{\"AutoConfig\"  :\"configuration_x.XConfig\"} }";
  EXPECT_EQ(set_in(text), text);
  EXPECT_EQ(without_in("{ }"), "{ }");
}

TEST(JsonEdit, RefusesWhatIsNoObjectWithLineAndColumn) {
  for (const char* text : {"",
                           "[1]",
                           "{",
                           "{\"a\"}",
                           "{\"a\": 1,}",
                           "{\"a\": 01}",
                           "{\"a\": 1} x",
                           "{\"a\": \"\n\"}",
                           "{\"a\": tru}",
                           "{\"a\": \"\\x\"}",
                           "{\"a\": \"\\ud800\"}",
                           "{\"a\": \"\xFF\"}",
                           "\xEF\xBB\xBF{\"a\": \"\xFF\"}",
                           "\xEF\xBB\xBF\n\xFB",
                           "\xC3",
                           "{'a': 1}",
                           "{\"a\": [1}",
                           "{\"a\": +1}",
                           "{\"a\": 1.}",
                           "{\"a\": 1e}",
                           "{\"a\": -}",
                           "{\"a\": \"\\u12g4\"}",
                           "{\"a\" 1}",
                           "{\"a\": [1,]}"}) {
    EXPECT_THROW(without_in(text), Error) << text;
    EXPECT_THROW(member_of(text, "auto_map", "config.json"), Error) << text;
  }
  try {
    without_in("{\n  \"a\": 1,\n  b\n}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json, line 3, column 3"), std::string::npos) << error.what();
  }
}

TEST(JsonEdit, RefusesAKeyThatComesTwice) {
  EXPECT_THROW(without_in(R"({"auto_map": 1, "auto_map": 2})"), Error);
  EXPECT_THROW(set_in(R"({"auto_map": 1, "\u0061uto_map": 2})"), Error);
}

TEST(JsonEdit, ReadsTextsOfAnyDepth) {
  const std::string deep(200000, '[');
  EXPECT_THROW(without_in("{\"a\": " + deep), Error);
  const std::string closed = "{\"a\": " + deep + std::string(deep.size(), ']') + "}";
  EXPECT_EQ(without_in(closed), closed);
}

// Laws over random objects in random layouts: the edited text means what editing its meaning gives, other members keep
// their bytes and their order, and taking back what was added gives the first text.
TEST(JsonEdit, LawsOfRandomTexts) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return int(random() % unsigned(n)); };
  const char* spaces[] = {"", " ", "\n", "\n  ", "\r\n\t", "\t", "  \n\n "};
  const char* values[] = {
      "1", "-0.0", "1.50e+3", "\"a\\n\\u0041\"", "[]", "{}", "[1, {\"auto_map\": 2}]", "null", "{\"k\" : [true]}"};
  for (int round = 0; round < 3000; ++round) {
    const int count = pick(5), at = pick(count + 2) - 1;
    const auto space = [&] { return spaces[pick(7)]; };
    std::string text = std::string(space()) + "{", others;
    std::vector<std::string> pieces;
    for (int i = 0; i < count; ++i) {
      const std::string name = i == at ? "auto_map" : "key" + std::to_string(i);
      const std::string piece = "\"" + name + "\"" + space() + ":" + space() + values[pick(9)];
      if (i != at) pieces.push_back(piece);
      text += std::string(i ? "," : "") + space() + piece + space();
    }
    text += std::string(count ? "" : space()) + "}" + space();
    for (const std::optional<Json>& value :
         {std::optional<Json>(), std::optional<Json>(kLocal), std::optional<Json>(Json::array({"a.B", nullptr}))}) {
      const std::string edited = with_member(text, "auto_map", value, "random");
      Json meant = Json::parse(text);
      if (value)
        meant["auto_map"] = *value;
      else
        meant.erase("auto_map");
      ASSERT_EQ(Json::parse(edited), meant) << text << "\n=>\n" << edited;
      ASSERT_EQ(with_member(edited, "auto_map", value, "random"), edited) << text;
      std::size_t from = 0;
      for (const std::string& piece : pieces) {
        from = edited.find(piece, from);
        ASSERT_NE(from, std::string::npos) << text << "\n=>\n" << edited;
        from += piece.size();
      }
      if (value && (at < 0 || at >= count) && count > 0) {
        ASSERT_EQ(without_in(edited), text) << edited;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::hub

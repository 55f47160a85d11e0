#include "hub/patch/auto_map.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub {
namespace {

using Names = std::map<std::string, std::string>;

TEST(AutoMap, RemoteIsWhatNamesARepository) {
  EXPECT_TRUE(is_remote_code("org/repo--modeling_x.XModel"));
  EXPECT_TRUE(is_remote_code(Json::array({nullptr, "repo--t.X"})));
  EXPECT_FALSE(is_remote_code("modeling_x.XModel"));
  EXPECT_FALSE(is_remote_code(Json::array({"t.X", nullptr})));
  EXPECT_FALSE(is_remote_code(nullptr));
}

TEST(AutoMap, RemoteValuesGoAndLocalOnesStay) {
  const Json old = {{"AutoConfig", "configuration_x.XConfig"}, {"AutoModel", "o/r--modeling_x.X"}};
  EXPECT_EQ(patched_auto_map(old, {}, "c"), Json({{"AutoConfig", "configuration_x.XConfig"}}));
  EXPECT_TRUE(patched_auto_map({{"AutoModel", "o/r--modeling_x.X"}}, {}, "c").is_null());
  EXPECT_EQ(patched_auto_map(old, {{"AutoModel", "mine.X"}}, "c"),
            Json({{"AutoConfig", "configuration_x.XConfig"}, {"AutoModel", "mine.X"}}));
  EXPECT_EQ(patched_auto_map(nullptr, {{"AutoModel", "mine.X"}}, "c"), Json({{"AutoModel", "mine.X"}}));
}

TEST(AutoMap, PairsKeepTheirLocalPart) {
  EXPECT_EQ(patched_auto_map({{"AutoTokenizer", {"o/r--t.X", "t.XFast"}}}, {}, "c"),
            Json({{"AutoTokenizer", {nullptr, "t.XFast"}}}));
  EXPECT_TRUE(patched_auto_map({{"AutoTokenizer", {"o/r--t.X", nullptr}}}, {}, "c").is_null());
  EXPECT_EQ(patched_auto_map(Json::array({"t.X", "r--t.Y"}), {}, "c"), Json::array({"t.X", nullptr}));
  EXPECT_TRUE(patched_auto_map(Json::array({"r--t.X", nullptr}), {}, "c").is_null());
}

// transformers takes [1], else [0] of the value: of a string that would be a letter.
TEST(AutoMap, ASetTokenizerIsAPair) {
  EXPECT_EQ(patched_auto_map(nullptr, {{"AutoTokenizer", "t.X"}}, "c"), Json({{"AutoTokenizer", {"t.X", nullptr}}}));
  EXPECT_EQ(patched_auto_map(nullptr, {{"AutoTokenizer", "t.XFast"}}, "c"),
            Json({{"AutoTokenizer", {nullptr, "t.XFast"}}}));
}

TEST(AutoMap, SameValueIfNothingIsRemote) {
  for (const Json& same : {Json::object(), Json(nullptr), Json{{"AutoModel", "m.X"}}, Json::array({"t.X", nullptr})})
    EXPECT_EQ(patched_auto_map(same, {}, "c"), same);
}

TEST(AutoMap, RefusesOtherKinds) {
  for (const Json& bad :
       {Json(1), Json("m.X"), Json{{"AutoModel", 1}}, Json{{"AutoModel", {{"a", "b"}}}}, Json::array({1})})
    EXPECT_THROW(patched_auto_map(bad, {}, "c"), Error) << bad;
}

TEST(AutoMap, EditsATextAndSaysWhatWent) {
  const AutoMapEdit edit =
      edit_auto_map(R"({"a": 1e400, "auto_map": {"AutoModel": "o/r--m.X", "AutoConfig": "c.C"}})", {}, "c");
  EXPECT_EQ(edit.text, R"({"a": 1e400, "auto_map": {"AutoConfig": "c.C"}})");
  EXPECT_EQ(edit.removed, std::vector<std::string>{"AutoModel → o/r--m.X"});
  EXPECT_EQ(edit_auto_map(R"({"b" : 1})", {}, "c").text, R"({"b" : 1})");
  EXPECT_EQ(edit_auto_map(R"({"auto_map" : {} })", {}, "c").text, R"({"auto_map" : {} })");
}

TEST(AutoMap, ModulesAreFilesOfTheDirectory) {
  EXPECT_EQ(modules_of({{"A", "b.X"}, {"B", {"a.Y", nullptr}}, {"C", "o/r--z.Z"}, {"D", "b.W"}, {"E", "p.q.V"}}),
            (std::vector<std::string>{"a.py", "b.py", "p/q.py"}));
  EXPECT_TRUE(modules_of({{"A", "../x.X"}, {"B", "x"}, {"C", 1}, {"D", ""}, {"E", "a..B"}}).empty());
}

TEST(AutoMap, FlagsAreNamesAndClassesThatAreHere) {
  EXPECT_EQ(parse_auto_map_flag("AutoConfig=configuration_x.XConfig"),
            std::make_pair(std::string("AutoConfig"), std::string("configuration_x.XConfig")));
  for (const char* bad : {"", "=", "AutoConfig", "AutoConfig=", "=m.X", "AutoConfig=X", "A=o/r--m.X", "A=m.", "A=.X",
                          "A=../m.X", "A=m-1.X", "A=1m.X", "A B=m.X", "A=m/n.X", "A=m.X=Y"})
    EXPECT_THROW(parse_auto_map_flag(bad), Error) << bad;
}

TEST(AutoMap, RemoteCodeInFilesThatNoTextModelNeedsIsTold) {
  test::TemporaryModel t;
  t.publish();
  const std::string remote = "{\"auto_map\": {\"AutoProcessor\": \"o/r--p.P\"}}";
  t.write("m/processor_config.json", remote);
  t.write("m/preprocessor_config.json", "{\"auto_map\": {\"AutoImageProcessor\": \"p.P\"}}");
  const PatchResult result = patch_model({.model = t.model()}, test::three_families(), "1", t.environment());
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0].find("processor_config.json names code of another repository"), 0u);
  EXPECT_EQ(t.read("m/processor_config.json"), remote);
}

}  // namespace
}  // namespace tilewright::hub

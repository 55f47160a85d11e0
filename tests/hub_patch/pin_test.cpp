// What a pin names, what differs from it, and pins that somebody damaged.
#include "hub/patch/pin.h"

#include <sys/stat.h>

#include "base/digest.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

void pin_all(const TemporaryModel& t) {
  Pin pin{.family = "qwen3", .version = "1"};
  for (const std::string& name : pinned_names(t.model())) pin.files[name] = sha256_of_file(t.model() / name);
  t.write("m/.tilewright/pin.json", pin_json(pin).dump());
}

TEST(Pin, RoundTrip) {
  TemporaryModel t;
  EXPECT_FALSE(read_pin(t.model()));
  EXPECT_EQ(pin_warning(t.model()), "");
  const Pin pin{.family = "qwen3", .version = "1.2", .files = {{"a/b c.json", std::string(64, 'e')}}};
  t.write("m/.tilewright/pin.json", pin_json(pin).dump());
  const auto again = read_pin(t.model());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->family, pin.family);
  EXPECT_EQ(again->version, pin.version);
  EXPECT_EQ(again->files, pin.files);
}

TEST(Pin, NamesWhatDecides) {
  TemporaryModel t;
  t.write("m/config.json", R"({"auto_map": {"A": "modeling.X", "B": "sub.deep.Y", "C": "o/r--far.Z", "D": "gone.W"}})");
  t.write("m/tokenizer_config.json", R"({"auto_map": ["tok.Slow", "o/r--tok.Fast"]})");
  for (const char* name : {"modeling.py", "sub/deep.py", "far.py", "tok.py", "other.py", "tokenizer.json", "README.md",
                           "model.safetensors", "model.safetensors.index.json", "chat_template.jinja",
                           "additional_chat_templates/tool_use.jinja", "additional_chat_templates/config.json"})
    t.write("m/" + std::string(name), "x");
  EXPECT_EQ(pinned_names(t.model()),
            (std::vector<std::string>{"additional_chat_templates/tool_use.jinja", "chat_template.jinja", "config.json",
                                      "model.safetensors.index.json", "modeling.py", "sub/deep.py", "tok.py",
                                      "tokenizer.json", "tokenizer_config.json"}));
}

TEST(Pin, TellsEveryDifference) {
  TemporaryModel t;
  t.publish();
  t.write("m/vocab.json", "{}");
  t.write("m/merges.txt", "");
  pin_all(t);
  EXPECT_TRUE(pin_differences(t.model()).empty());
  EXPECT_EQ(pin_warning(t.model()), "");

  t.write("m/tokenizer.json", "{ }");
  fs::remove(t.model() / "vocab.json");
  fs::remove(t.model() / "merges.txt");
  ASSERT_EQ(mkfifo((t.model() / "merges.txt").c_str(), 0600), 0);
  t.write("m/config.json", R"({"auto_map": {"A": "modeling.X"}})");
  t.write("m/modeling.py", "");
  std::map<std::string, std::string> found;
  for (const PinDifference& d : pin_differences(t.model())) found[d.file] = pin_difference_name(d.kind);
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"config.json", "changed"},
                                                       {"merges.txt", "unreadable"},
                                                       {"modeling.py", "added"},
                                                       {"tokenizer.json", "changed"},
                                                       {"vocab.json", "missing"}}));
  const std::string warning = pin_warning(t.model());
  EXPECT_NE(warning.find("5 files"), std::string::npos) << warning;
  EXPECT_NE(warning.find("tokenizer.json (changed)"), std::string::npos) << warning;
  EXPECT_EQ(warning.find('\n'), std::string::npos);
}

TEST(Pin, WeightsAreNotHashedAtEveryLoad) {
  TemporaryModel t;
  t.publish();
  pin_all(t);
  t.write("m/model.safetensors", "others");
  EXPECT_EQ(pin_warning(t.model()), "");
}

TEST(Pin, NamesThatAreNoTextAreLeftOut) {
  TemporaryModel t;
  t.publish();
  t.write("m/\xFF.safetensors.index.json", "{}");
  t.write("m/additional_chat_templates/\xFE.jinja", "x");
  const std::vector<std::string> names = pinned_names(t.model());
  EXPECT_EQ(names, (std::vector<std::string>{"config.json", "tokenizer.json", "tokenizer_config.json"}));
  patch_model({.model = t.model()}, three_families(), "1", t.environment());
  EXPECT_EQ(pin_differences(t.model()).size(), 0u);
}

TEST(Pin, ADamagedOneIsAWarningAndNeverACrash) {
  TemporaryModel t;
  const std::string hash(64, 'a');
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string("null"), std::string("\"x\""),
        std::string(R"({"format": "tilewright-pin-2", "family": "", "version": "", "files": {}})"),
        std::string(R"({"format": "tilewright-pin-1", "family": 3, "version": "", "files": {}})"),
        std::string(R"({"format": "tilewright-pin-1", "family": "", "version": "", "files": []})"),
        std::string(R"({"format": "tilewright-pin-1", "family": "", "version": "", "files": {"a": "b"}})"),
        R"({"format": "tilewright-pin-1", "family": "", "version": "", "files": {"../a": ")" + hash + "\"}}",
        R"({"format": "tilewright-pin-1", "family": "", "version": "", "files": {"/etc/passwd": ")" + hash + "\"}}",
        std::string(100000, '[')}) {
    t.write("m/.tilewright/pin.json", text);
    EXPECT_ANY_THROW(read_pin(t.model())) << text.substr(0, 80);
    const std::string warning = pin_warning(t.model());
    EXPECT_NE(warning.find("cannot be checked"), std::string::npos) << warning;
    EXPECT_EQ(warning.find('\n'), std::string::npos) << warning;
  }
  fs::remove(t.model() / ".tilewright/pin.json");
  ASSERT_EQ(mkfifo((t.model() / ".tilewright/pin.json").c_str(), 0600), 0);
  EXPECT_NE(pin_warning(t.model()), "");
}

}  // namespace
}  // namespace tilewright::hub::test

// Patching whole directories: what is planned, pinned, told, refused, and that all of it can be taken back.
#include "hub/patch/patch.h"

#include <sys/stat.h>

#include "base/digest.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

PatchResult patch(const TemporaryModel& t, PatchRequest request = {}) {
  if (request.model.empty()) request.model = t.model();
  return patch_model(request, three_families(), "1", t.environment());
}

std::string patch_error(const TemporaryModel& t, PatchRequest request = {}) {
  return error_of([&] { patch(t, std::move(request)); });
}

TEST(Patch, ABuiltInFamilyIsPinnedAndNoRemoteCodeIsLeft) {
  TemporaryModel t;
  t.publish();
  t.write("modules/transformers_modules/m/x.py", "");
  const auto before = tree(t.model());
  const PatchResult result = patch(t);
  EXPECT_EQ(result.path, t.model());
  EXPECT_EQ(result.pin.family, "qwen3");
  EXPECT_EQ(result.changed, (std::vector<std::string>{"config.json", "tokenizer_config.json"}));
  EXPECT_TRUE(result.added.empty());
  EXPECT_EQ(result.removed_auto_maps, (std::vector<std::string>{"config.json: AutoModel → o/r--modeling_x.XModel",
                                                                "tokenizer_config.json: AutoTokenizer → o/r--tok.T"}));
  EXPECT_EQ(result.cleared, std::vector<fs::path>{t.root() / "modules/transformers_modules/m"});
  EXPECT_EQ(t.read("m/config.json"), "{\n  \"model_type\": \"qwen3\",\n  \"hidden_size\":   8\n}\n");
  EXPECT_EQ(t.read("m/tokenizer_config.json").find("--"), std::string::npos);
  EXPECT_EQ(pin_warning(t.model()), "");
  EXPECT_EQ(read_pin(t.model())->files.size(), 3u);

  const auto patched = tree(t.root());
  const PatchResult again = patch(t);
  EXPECT_TRUE(again.nothing_to_do);
  EXPECT_EQ(again.changed, result.changed);
  EXPECT_EQ(tree(t.root()), patched);

  const UnpatchResult back = unpatch_model(t.model());
  EXPECT_EQ(back.restored, result.changed);
  EXPECT_EQ(tree(t.model()), before);
  EXPECT_TRUE(unpatch_model(t.model()).nothing_to_do);
}

TEST(Patch, AnotherVersionPinsAnew) {
  TemporaryModel t;
  t.publish();
  patch(t);
  const PatchResult result = patch_model({.model = t.model()}, three_families(), "2", t.environment());
  EXPECT_FALSE(result.nothing_to_do);
  EXPECT_EQ(read_pin(t.model())->version, "2");
  EXPECT_EQ(result.changed, (std::vector<std::string>{"config.json", "tokenizer_config.json"}));
}

TEST(Patch, OwnPythonCode) {
  TemporaryModel t;
  t.publish();
  t.write("m/config.json",
          "{\"model_type\": \"mine\", \"auto_map\": {\"A\": \"old.A\", \"B\": \"o/r--b.B\"}, \"x\": 1}");
  t.write("m/old.py", "");
  t.write("src/x.py", "class XConfig: pass\n");
  t.write("src/data.txt", "data");
  const auto before = tree(t.model());
  const PatchRequest request{.auto_map = {{"AutoConfig", "pkg.x.XConfig"}},
                             .copy = {{"pkg/./x.py", "x.py"}, {"pkg/data.txt", "data.txt"}},
                             .source_root = t.root() / "src"};
  const PatchResult result = patch(t, request);
  EXPECT_EQ(result.pin.family, "");
  EXPECT_EQ(result.added, (std::vector<std::string>{"pkg/data.txt", "pkg/x.py"}));
  const Json map = parse_json(t.read("m/config.json"), "")["auto_map"];
  EXPECT_EQ(map, (Json{{"A", "old.A"}, {"AutoConfig", "pkg.x.XConfig"}}));
  EXPECT_TRUE(result.pin.files.contains("pkg/x.py"));
  EXPECT_TRUE(result.pin.files.contains("old.py"));
  EXPECT_TRUE(patch(t, request).nothing_to_do);
  EXPECT_TRUE(patch(t).nothing_to_do);  // what it was told stays
  EXPECT_EQ(patch(t, {.output_dir = t.root() / "overlay"}).pin.family, "");
  t.write("m/pkg/x.py", "changed");
  EXPECT_EQ(patch_status(t.model()).differences.size(), 1u);
  t.write("m/pkg/data.txt", "changed");
  EXPECT_EQ(patch_status(t.model()).differences.size(), 2u);
  t.write("m/pkg/data.txt", "data");
  t.write("m/mine.txt", "mine");
  EXPECT_EQ(unpatch_model(t.model()).kept.size(), 1u);
  fs::remove(t.model() / "mine.txt");
  fs::remove_all(t.model() / "pkg");  // the edited copy is the user's
  EXPECT_EQ(tree(t.model()), before);
}

TEST(Patch, Families) {
  TemporaryModel t;
  t.publish();
  t.write("m/config.json", "{\"model_type\": \"qwen33\"}");
  const auto before = tree(t.root());
  EXPECT_NE(patch_error(t).find("nearest one is qwen3"), std::string::npos) << patch_error(t);
  EXPECT_NE(patch_error(t, {.family = "lama"}).find("nearest one is llama"), std::string::npos);
  for (const char* config : {"{}", "{\"model_type\": 3}", "{\"model_type\": null}"}) {
    t.write("m/config.json", config);
    EXPECT_NE(patch_error(t), "");
  }
  t.write("m/config.json", "{\"model_type\": \"qwen2\"}");
  EXPECT_NE(patch_error(t, {.family = "Qwen3-1.7B"}).find("another family"), std::string::npos);
  EXPECT_FALSE(fs::exists(t.model() / ".tilewright"));
  t.write("m/config.json", "{\"model_type\": \"custom\"}");
  EXPECT_EQ(patch(t, {.family = "Qwen3-1.7B"}).pin.family, "qwen3");
}

TEST(Patch, RefusesBeforeAnythingIsWritten) {
  TemporaryModel t;
  t.publish();
  t.write("x.py", "x");
  t.write("m/file", "x");
  fs::create_directory(t.root() / "outside");
  fs::create_directory_symlink(t.root() / "outside", t.model() / "linked");
  fs::create_directory(t.root() / "dir");
  mkfifo((t.root() / "pipe").c_str(), 0600);
  const auto before = tree(t.root());
  const std::string x = t.root() / "x.py";
  for (const char* destination : {"",
                                  ".",
                                  "..",
                                  "../x.py",
                                  "a/../../x.py",
                                  "/tmp/x.py",
                                  "sub",
                                  "sub/",
                                  "new/",
                                  ".tilewright/x.py",
                                  ".tilewright",
                                  "a/../.tilewright/x.py",
                                  "./.tilewright/pin.json",
                                  ".Tilewright/x",
                                  "linked",
                                  "linked/x.py",
                                  "linked/../x/../../y",
                                  "file/x.py",
                                  "config.json.orig",
                                  "a\\b",
                                  "C:x",
                                  "a\nb",
                                  "x.py.pypto_orig"})
    for (const fs::path& output : {fs::path(), t.root() / "overlay"}) {
      EXPECT_NE(patch_error(t, {.copy = {{destination, x}}, .output_dir = output}), "") << destination;
      EXPECT_EQ(tree(t.root()), before) << destination;
    }
  for (const fs::path& source : {t.root() / "absent.py", t.root() / "dir", t.root() / "pipe", fs::path("")}) {
    EXPECT_NE(patch_error(t, {.copy = {{"ok.py", x}, {"x.py", source.string()}}}), "") << source;
    EXPECT_EQ(tree(t.root()), before);
  }
  EXPECT_NE(patch_error(t, {.copy = {{"a", x}, {"a/b", x}}}), "");
  EXPECT_NE(patch_error(t, {.copy = {{"a/x.py", x}, {"a/./x.py", x}}}), "");
  EXPECT_NE(patch_error(t, {.copy = {{"a", "x.py"}}, .source_root = t.root() / "absent"}), "");
  EXPECT_NE(patch_error(t, {.auto_map = {{"AutoConfig", "gone.X"}}}).find("--copy gone.py="), std::string::npos);
  EXPECT_EQ(tree(t.root()), before);
}

TEST(Patch, HostileDirectories) {
  TemporaryModel t;
  EXPECT_NE(patch_error(t).find("config.json"), std::string::npos);
  EXPECT_NE(patch_error(t, {.model = t.root() / "absent"}).find("no such directory"), std::string::npos);
  ASSERT_EQ(mkfifo((t.model() / "config.json").c_str(), 0600), 0);
  EXPECT_NE(patch_error(t), "");
  fs::remove(t.model() / "config.json");
  for (const std::string& text :
       {std::string(), std::string("nonsense"), std::string("[1]"), std::string("\"x\""), std::string(1 << 20, '['),
        std::string(R"({"model_type": "qwen3", "auto_map": 3})"),
        std::string(R"({"model_type": "qwen3", "auto_map": "o/r--x.X"})"),
        std::string(R"({"model_type": "qwen3", "auto_map": {"A": 3}})"),
        std::string(R"({"model_type": "qwen3", "auto_map": {"A": {"B": "o/r--x.X"}}})"),
        std::string(R"({"model_type": "qwen3", "auto_map": {"A": ["o/r--x.X", ["o/r--x.X"]]}})")}) {
    t.write("m/config.json", text);
    const auto before = tree(t.root());
    EXPECT_NE(patch_error(t), "") << text.substr(0, 80);
    EXPECT_EQ(tree(t.root()), before);
    EXPECT_FALSE(patch_status(t.model()).patched);
  }
  // Names that lead out are neither hashed nor believed.
  t.write("m/config.json", R"({"model_type": "qwen3", "auto_map": {"A": "../../x.X", "B": "/etc/passwd.X", "C": ""}})");
  EXPECT_EQ(patch(t).pin.files.size(), 1u);
}

TEST(Patch, ASecondOneKeepsWhatTheFirstPinned) {
  TemporaryModel t;
  t.publish();
  patch(t, {.copy = {{"helper.py", t.write("x.py", "x")}}});
  const PatchResult second = patch(t, {.copy = {{"pkg/c.py", t.write("y.py", "y")}}});
  EXPECT_TRUE(second.pin.files.contains("helper.py"));  // c.py may import it
  EXPECT_TRUE(second.pin.files.contains("pkg/c.py"));
}

TEST(Patch, TokenizerSettingsAreToldOnlyOfTheTokenizer) {
  TemporaryModel t;
  t.publish();
  patch(t, {.auto_map = {{"AutoConfig", "c.C"}, {"AutoTokenizer", "c.T"}}, .copy = {{"c.py", t.write("c.py", "x")}}});
  EXPECT_EQ(parse_json(t.read("m/tokenizer_config.json"), "")["auto_map"],
            parse_json("{\"AutoTokenizer\": [\"c.T\", null]}", ""));
}

TEST(Patch, WhatIsKeptOfAnEditTakesNoNameOfACopy) {
  TemporaryModel t;
  t.publish();
  const std::string x = t.write("x.py", "x"), y = t.write("y.py", "y");
  patch(t, {.copy = {{"a.py", x}}});
  t.write("m/a.py", "edited");
  patch(t, {.copy = {{"a.py", y}, {"a.py.edited", x}}});
  EXPECT_EQ(t.read("m/a.py"), "y");
  EXPECT_EQ(t.read("m/a.py.edited"), "x");
  EXPECT_EQ(t.read("m/a.py.edited.2"), "edited");
}

TEST(Patch, NumbersThatOnlyPythonReadsStay) {
  TemporaryModel t;
  t.write("m/x.py", "class X: pass\n");
  const std::string rest = ", \"time_step_limit\": [0.0, Infinity], \"a\": NaN, \"b\": 1e999}";
  t.write("m/config.json", "{\"auto_map\": {\"AutoModel\": \"x.X\", \"AutoConfig\": \"o/r--y.Y\"}" + rest);
  const PatchResult result = patch(t, {.family = "qwen3"});
  EXPECT_EQ(t.read("m/config.json"), "{\"auto_map\": {\"AutoModel\": \"x.X\"}" + rest);
  EXPECT_EQ(result.pin.files.count("x.py"), 1u);
  t.write("m/x.py", "import os\n");
  EXPECT_EQ(pin_differences(t.model()).size(), 1u);
}

TEST(Patch, WhatRootPatchedBelongsToTheModelsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  TemporaryModel t;
  t.publish();
  constexpr uid_t kOwner = 4321, kOther = 4322;
  for (const char* name : {"", "config.json", "tokenizer_config.json", "sub"})
    ASSERT_EQ(chown((t.model() / name).c_str(), kOwner, kOwner), 0);
  ASSERT_EQ(chown((t.model() / "tokenizer.json").c_str(), kOther, kOther), 0);
  const auto owner = [&](const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat((t.model() / path).c_str(), &info), 0) << path;
    return info.st_uid;
  };
  patch(t, {.copy = {{"pkg/x.py", t.write("x.py", "x")}, {"tokenizer.json", t.write("y.json", "{\"y\": 1}")}}});
  for (const char* name : {"config.json", "config.json.orig", "pkg", "pkg/x.py", ".tilewright", ".tilewright/pin.json",
                           ".tilewright/patch.json"})
    EXPECT_EQ(owner(name), kOwner) << name;
  EXPECT_EQ(owner("tokenizer.json"), kOther);
  unpatch_model(t.model());
  EXPECT_EQ(owner("config.json"), kOwner);
  EXPECT_EQ(owner("tokenizer.json"), kOther);
}

TEST(Patch, SnapshotsOfTheHubsCacheKeepTheirBlobs) {
  TemporaryModel t;
  t.write("hub/models--o--r/blobs/c1", "{\"model_type\": \"llama\", \"auto_map\": {\"A\": \"o/r--x.X\"}}");
  const fs::path snapshot = t.root() / "hub/models--o--r/snapshots/5";
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/c1", snapshot / "config.json");
  t.write("modules/transformers_modules/o/r/5/x.py", "");
  const auto before = tree(t.root() / "hub");
  const PatchResult result = patch(t, {.model = snapshot});
  EXPECT_EQ(result.cleared.size(), 1u);
  EXPECT_FALSE(fs::is_symlink(snapshot / "config.json"));
  EXPECT_EQ(t.read("hub/models--o--r/snapshots/5/config.json"), "{\"model_type\": \"llama\"}");
  EXPECT_EQ(t.read("hub/models--o--r/blobs/c1"), "{\"model_type\": \"llama\", \"auto_map\": {\"A\": \"o/r--x.X\"}}");
  unpatch_model(snapshot);
  EXPECT_EQ(tree(t.root() / "hub"), before);
}

TEST(Patch, ALinkedModelIsPatchedWhereItIs) {
  TemporaryModel t;
  t.publish();
  fs::create_directory_symlink("m", t.root() / "alias");
  EXPECT_EQ(patch(t, {.model = t.root() / "alias"}).path, t.model());
  EXPECT_TRUE(fs::is_symlink(t.root() / "alias"));
  EXPECT_TRUE(patch_status(t.root() / "alias").pinned);
}

TEST(Patch, Overlays) {
  TemporaryModel t;
  t.publish();
  t.write("modules/transformers_modules/overlay/x.py", "");
  const auto before = tree(t.model());
  const PatchResult result = patch(t, {.output_dir = t.root() / "overlay"});
  EXPECT_EQ(result.path, t.root() / "overlay");
  EXPECT_EQ(result.changed, (std::vector<std::string>{"config.json", "tokenizer_config.json"}));
  EXPECT_EQ(result.cleared.size(), 1u);
  EXPECT_EQ(tree(t.model()), before);
  const PatchStatus status = patch_status(result.path);
  EXPECT_TRUE(status.overlay && status.pinned && status.patched);
  EXPECT_EQ(status.changed.size(), 2u);
  EXPECT_TRUE(status.differences.empty());
  EXPECT_TRUE(patch(t, {.model = result.path}).nothing_to_do);
  EXPECT_NE(error_of([&] { unpatch_model(result.path); }).find("delete"), std::string::npos);
  EXPECT_NE(
      patch_error(t, {.model = result.path, .copy = {{"x", (t.model() / "tokenizer.json").string()}}}).find("overlay"),
      std::string::npos);
  // The model's other files are pinned there, too.
  t.write("m/tokenizer.json", "{ }");
  EXPECT_NE(pin_warning(result.path), "");
}

TEST(Patch, WhatPyptoGymPatchedComesBackAsPublished) {
  TemporaryModel t;
  t.publish();
  const auto before = tree(t.model());
  fs::rename(t.model() / "config.json", t.model() / "config.json.pypto_orig");
  t.write("m/config.json", "{\"model_type\": \"qwen3\", \"auto_map\": {\"AutoModel\": \"gym.G\"}}");
  EXPECT_EQ(patch_status(t.model()).foreign, std::vector<std::string>{"config.json"});
  for (const bool patched : {true, false}) {
    if (patched) patch(t);
    unpatch_model(t.model());
    EXPECT_EQ(tree(t.model()), before) << patched;
    fs::rename(t.model() / "config.json", t.model() / "config.json.pypto_orig");
    t.write("m/config.json", "{\"model_type\": \"qwen3\", \"auto_map\": {\"AutoModel\": \"o/r--gym.G\"}}");
  }
}

TEST(Patch, StatusWritesNothing) {
  TemporaryModel t;
  t.publish();
  const auto before = tree(t.root());
  const PatchStatus status = patch_status(t.model());
  EXPECT_FALSE(status.patched || status.pinned || status.overlay || status.unfinished);
  EXPECT_EQ(tree(t.root()), before);
}

TEST(Patch, StatusTellsWhatIsDamagedAndTheRest) {
  TemporaryModel t;
  t.publish();
  patch(t, {.copy = {{"x.py", t.write("x.py", "x")}}});
  const std::string record = t.read("m/.tilewright/patch.json"), pin = t.read("m/.tilewright/pin.json");
  t.write("m/x.py", "edited");
  for (const char* damage : {"", "{", "[]", "{\"format\": 1}"}) {
    t.write("m/.tilewright/pin.json", damage);
    PatchStatus status = patch_status(t.model());
    EXPECT_EQ(status.damaged.size(), 1u) << damage;
    EXPECT_EQ(status.damaged.at(0).find('\n'), std::string::npos);
    EXPECT_EQ(status.added.size(), 1u);
    ASSERT_EQ(status.differences.size(), 1u);
    EXPECT_EQ(status.differences[0].file, "x.py");
    t.write("m/.tilewright/pin.json", pin);
    t.write("m/.tilewright/patch.json", damage);
    const auto before = tree(t.root());
    status = patch_status(t.model());
    EXPECT_EQ(status.damaged.size(), 1u) << damage;
    EXPECT_TRUE(status.pinned);
    EXPECT_EQ(status.differences.size(), 1u);
    EXPECT_NE(error_of([&] { unpatch_model(t.model()); }).find("remove .tilewright"), std::string::npos);
    EXPECT_EQ(tree(t.root()), before);
    t.write("m/.tilewright/patch.json", record);
  }
  fs::remove_all(t.model() / ".tilewright");
  fs::create_directory_symlink(t.root(), t.model() / ".tilewright");
  EXPECT_EQ(patch_status(t.model()).damaged.size(), 1u);
}

TEST(Patch, KilledAnywhereTheNextCommandEndsIt) {
  TemporaryModel t;
  t.publish();
  t.write("src/x.py", "x");
  const PatchRequest request{
      .model = t.model(), .auto_map = {{"AutoConfig", "x.X"}}, .copy = {{"x.py", (t.root() / "src/x.py").string()}}};
  const auto before = tree(t.model(), false);
  patch(t, request);
  const auto whole = tree(t.model(), false);
  const std::string config = t.read("m/config.json");
  unpatch_model(t.model());
  int step = 0, reported = 0;
  for (; killed_at(step,
                   [&](const StepHook& hook) { patch_model(request, three_families(), "1", t.environment(), hook); });
       ++step) {
    ASSERT_LT(step, 200);
    if (t.read("m/config.json") == config) {
      EXPECT_EQ(t.read("m/x.py"), "x");
    }
    const auto killed = tree(t.model());
    reported += patch_status(t.model()).unfinished;
    EXPECT_EQ(tree(t.model()), killed);
    patch(t, request);
    EXPECT_EQ(tree(t.model(), false), whole) << step;
    unpatch_model(t.model());
    EXPECT_EQ(tree(t.model(), false), before) << step;
  }
  EXPECT_GT(reported, 0);
}

}  // namespace
}  // namespace tilewright::hub::test

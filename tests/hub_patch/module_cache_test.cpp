// Which caches of remote modules belong to a directory: by exact names, and never outside of the cache.
#include "hub/patch/module_cache.h"

#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cleared_names(const TemporaryModel& t, const fs::path& model) {
  std::vector<std::string> notes, out;
  for (const fs::path& folder : clear_module_cache(t.root() / "modules", model, notes)) {
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder)));
    out.push_back(folder.lexically_relative(t.root() / "modules" / "transformers_modules").string());
  }
  EXPECT_TRUE(notes.empty());
  return out;
}

TEST(ModuleCache, NamesAsTransformersSpellsThem) {
  EXPECT_EQ(python_package_name("Qwen3-1.7B"), "Qwen3_hyphen_1_dot_7B");
  EXPECT_EQ(python_package_name("2b"), "_2b");
  EXPECT_EQ(python_package_name("plain_name"), "plain_name");
}

TEST(ModuleCache, ClearsExactNamesOnly) {
  TemporaryModel t;
  for (const char* name : {"m2", "minimax_m2", "m2_x", "M2", "xm2", "m2/0123456789abcdef"})
    t.write("modules/transformers_modules/" + std::string(name) + "/a.py", "");
  fs::create_directory(t.root() / "m2");
  EXPECT_EQ(cleared_names(t, t.root() / "m2"), std::vector<std::string>{"m2"});
  for (const char* name : {"minimax_m2", "m2_x", "M2", "xm2"})
    EXPECT_TRUE(fs::exists(t.root() / "modules/transformers_modules" / name)) << name;
  EXPECT_TRUE(cleared_names(t, t.root() / "m2").empty());
}

TEST(ModuleCache, ClearsBothSpellingsAndBothNamesOfALink) {
  TemporaryModel t;
  for (const char* name : {"Q-1.7", "Q_hyphen_1_dot_7", "alias", "_dot_"})
    t.write("modules/transformers_modules/" + std::string(name) + "/a.py", "");
  fs::create_directory(t.root() / "Q-1.7");
  fs::create_directory_symlink(t.root() / "Q-1.7", t.root() / "alias");
  EXPECT_EQ(cleared_names(t, t.root() / "alias/"), (std::vector<std::string>{"alias", "Q-1.7", "Q_hyphen_1_dot_7"}));
  EXPECT_TRUE(fs::exists(t.root() / "modules/transformers_modules/_dot_"));
}

TEST(ModuleCache, OfASnapshotAlsoWhatItsIdIsCalled) {
  TemporaryModel t;
  const std::string commit(40, 'a');
  for (const std::string& name : {"o-x/r.1/" + commit, "o_hyphen_x/r_dot_1/" + commit,
                                  "o_hyphen_x/r_dot_1/" + std::string(40, 'b'), std::string("o-x/other/") + commit})
    t.write("modules/transformers_modules/" + name + "/a.py", "");
  const fs::path model = t.root() / "hub" / "models--o-x--r.1" / "snapshots" / commit;
  fs::create_directories(model);
  EXPECT_EQ(cleared_names(t, model), (std::vector<std::string>{"o-x/r.1/" + commit, "o_hyphen_x/r_dot_1/" + commit}));
  EXPECT_TRUE(fs::exists(t.root() / "modules/transformers_modules/o_hyphen_x/r_dot_1" / std::string(40, 'b')));
  EXPECT_TRUE(fs::exists(t.root() / "modules/transformers_modules/o-x/other" / commit));
}

TEST(ModuleCache, FollowsNoLink) {
  TemporaryModel t;
  t.write("elsewhere/precious.py", "x");
  fs::create_directories(t.root() / "modules/transformers_modules");
  fs::create_directory_symlink(t.root() / "elsewhere", t.root() / "modules/transformers_modules/m");
  EXPECT_EQ(cleared_names(t, t.model()), std::vector<std::string>{"m"});  // the link alone
  EXPECT_EQ(t.read("elsewhere/precious.py"), "x");

  fs::remove_all(t.root() / "modules");
  fs::create_directories(t.root() / "modules");
  t.write("elsewhere/m/precious.py", "x");
  fs::create_directory_symlink(t.root() / "elsewhere", t.root() / "modules/transformers_modules");
  EXPECT_TRUE(cleared_names(t, t.model()).empty());
  EXPECT_EQ(t.read("elsewhere/m/precious.py"), "x");
}

TEST(ModuleCache, FollowsNoLinkOnTheWayToASnapshot) {
  TemporaryModel t;
  const std::string commit(40, 'a');
  t.write("elsewhere/r/" + commit + "/precious.py", "x");
  fs::create_directories(t.root() / "modules/transformers_modules");
  fs::create_directory_symlink(t.root() / "elsewhere", t.root() / "modules/transformers_modules/o");
  const fs::path model = t.root() / "hub" / "models--o--r" / "snapshots" / commit;
  fs::create_directories(model);
  EXPECT_TRUE(cleared_names(t, model).empty());
  EXPECT_EQ(t.read("elsewhere/r/" + commit + "/precious.py"), "x");
}

TEST(ModuleCache, NeverHoldsTheModel) {
  TemporaryModel t;
  t.write("modules/transformers_modules/m/config.json", "{}");
  EXPECT_TRUE(cleared_names(t, t.root() / "modules/transformers_modules/m").empty());
  t.write("modules/transformers_modules/n/n/config.json", "{}");
  EXPECT_TRUE(cleared_names(t, t.root() / "modules/transformers_modules/n/n").empty());
  EXPECT_TRUE(cleared_names(t, "/").empty());
}

}  // namespace
}  // namespace tilewright::hub::test

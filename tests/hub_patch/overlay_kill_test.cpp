// Killed before any step, an overlay's place holds the old folder or the new one, whole; the next command leaves
// nothing of the killed one.
#include "hub/patch/overlay.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

void kill_everywhere(const std::string& target, bool old_one) {
  TemporaryModel t;
  t.publish();
  const DirectoryChange change{.write = {{"config.json", "{\"new\": 1}"}, {"tokenizer_config.json", "{}"}},
                               .copy = {{"deep/x.py", t.write("src/x.py", "x")}},
                               .pin = Pin{.family = "qwen3", .version = "1", .files = {{"config.json", ""}}}};
  const auto begin = [&] {
    fs::remove_all(t.root() / fs::path(target).begin()->string());
    if (old_one) {
      t.write(target + "/old.txt", "old");
      t.write(target + "/config.json", "{\"old\": 1}");
    }
  };
  const auto build = [&](const StepHook& hook) { build_overlay(t.model(), t.root() / target, change, old_one, hook); };
  begin();
  build({});
  const auto whole = tree(t.root() / target, false);
  begin();
  const auto before = old_one ? tree(t.root() / target, false) : std::map<std::string, std::string>{};
  const auto model = tree(t.model());
  int step = 0, old_seen = 0, new_seen = 0;
  for (; killed_at(step, build); ++step) {
    const bool there = fs::exists(t.root() / target);
    const auto now = there ? tree(t.root() / target, false) : std::map<std::string, std::string>{};
    EXPECT_TRUE(now == whole || (now == before && there == old_one)) << "step " << step;
    ++(now == whole ? new_seen : old_seen);
    EXPECT_EQ(tree(t.model()), model);
    build_overlay(t.model(), t.root() / target, change, true);
    EXPECT_EQ(tree(t.root() / target, false), whole);
    for (const auto& entry : fs::directory_iterator((t.root() / target).parent_path()))
      EXPECT_EQ(entry.path().filename().string().find(".tilewright-overlay"), std::string::npos) << "step " << step;
    begin();
    ASSERT_LT(step, 100);
  }
  EXPECT_GT(old_seen, 5);
  EXPECT_GT(new_seen, 0);
}

TEST(OverlayKill, AnAbsentTarget) { kill_everywhere("p/q/overlay", false); }
TEST(OverlayKill, AnOldTarget) { kill_everywhere("overlay", true); }

}  // namespace
}  // namespace tilewright::hub::test

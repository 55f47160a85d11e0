// Overlays: what is linked, what is real, and which targets are refused.
#include "hub/patch/overlay.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "hub/patch/overlay_swap.h"
#include "hub_patch/model_fixture.h"

namespace tilewright::hub::test {
namespace {

namespace fs = std::filesystem;

DirectoryChange small_change(const TemporaryModel& t) {
  return {
      .write = {{"config.json", "{\"new\": 1}"}},
      .copy = {{"deep/er/x.py", t.write("src/x.py", "print(1)\n")}},
      .pin = Pin{
          .family = "qwen3", .version = "1", .files = {{"config.json", ""}, {"tokenizer.json", std::string(64, 'a')}}}};
}

std::vector<std::string> names_beside(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Overlay, OnlyChangedFilesAreReal) {
  TemporaryModel t;
  t.publish();
  t.write("m/config.json.orig", "somebody's");
  t.write("m/.tilewright/pin.json", "x");
  t.write("m/tokenizer.json.pypto_orig", "x");
  t.write("m/.cache/huggingface/download/config.json.metadata", "of the other directory");
  fs::create_directory(t.model() / "empty");
  t.write("elsewhere/big.bin", "w");
  fs::create_symlink("../elsewhere/big.bin", t.model() / "big.bin");
  fs::create_directory_symlink("../elsewhere", t.model() / "linked");
  mkfifo((t.model() / "pipe").c_str(), 0600);
  const auto before = tree(t.model());
  const PatchRecord record = build_overlay(t.model(), t.root() / "a/b/overlay", small_change(t), false);
  EXPECT_EQ(tree(t.model()), before);

  const fs::path overlay = t.root() / "a/b/overlay";
  EXPECT_EQ(record.overlay_of, t.model().string());
  std::set<std::string> real, folders;
  std::map<std::string, std::string> links;
  for (const auto& entry : fs::recursive_directory_iterator(overlay)) {
    const std::string name = entry.path().lexically_relative(overlay).string();
    if (entry.is_symlink())
      links[name] = fs::read_symlink(entry.path()).string();
    else
      (entry.is_directory() ? folders : real).insert(name);
  }
  EXPECT_EQ(real,
            (std::set<std::string>{"config.json", "deep/er/x.py", ".tilewright/pin.json", ".tilewright/patch.json"}));
  EXPECT_EQ(folders, (std::set<std::string>{".cache", ".tilewright", "deep", "deep/er", "empty", "sub"}));
  const std::string m = t.model().string() + "/";
  EXPECT_EQ(links, (std::map<std::string, std::string>{{"tokenizer_config.json", m + "tokenizer_config.json"},
                                                       {"tokenizer.json", m + "tokenizer.json"},
                                                       {"model.safetensors", m + "model.safetensors"},
                                                       {"sub/extra.json", m + "sub/extra.json"},
                                                       {"config.json.orig", m + "config.json.orig"},
                                                       {"big.bin", (t.root() / "elsewhere/big.bin").string()},
                                                       {"linked", (t.root() / "elsewhere").string()}}));
  EXPECT_EQ(t.read("a/b/overlay/config.json"), "{\"new\": 1}");
  EXPECT_EQ(read_pin(overlay)->files.at("config.json"), sha256_of_text("{\"new\": 1}"));
  EXPECT_EQ(read_patch_record(overlay)->files.size(), 2u);
  EXPECT_EQ(names_beside(t.root() / "a/b"), std::vector<std::string>{"overlay"});
}

TEST(Overlay, LinksToASnapshotsNamesAndNotToItsBlobs) {
  TemporaryModel t;
  t.write("hub/models--o--r/blobs/abc", "weights");
  const fs::path snapshot = t.root() / "hub/models--o--r/snapshots/1";
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/abc", snapshot / "model.safetensors");
  build_overlay(snapshot, t.root() / "overlay", small_change(t), false);
  EXPECT_EQ(fs::read_symlink(t.root() / "overlay/model.safetensors"), snapshot / "model.safetensors");
  // An overlay of the overlay does not depend on the first.
  build_overlay(t.root() / "overlay", t.root() / "second", DirectoryChange{}, false);
  EXPECT_EQ(fs::read_symlink(t.root() / "second/model.safetensors"), snapshot / "model.safetensors");
  // The blobs would go with the folder that is replaced.
  EXPECT_NE(error_of([&] {
              build_overlay(snapshot, t.root() / "hub/models--o--r/blobs", small_change(t), true);
            }).find("holds a file of the model"),
            std::string::npos);
  EXPECT_EQ(t.read("hub/models--o--r/blobs/abc"), "weights");
}

TEST(Overlay, RefusesTheModelWhatHoldsItAndWhatLiesInIt) {
  TemporaryModel t;
  t.publish();
  const fs::path m = t.model();
  fs::create_directory_symlink(m, t.root() / "link_to_model");
  fs::create_directory_symlink(t.root(), t.root() / "link_to_root");
  fs::create_directory(t.root() / "d");
  const auto before = tree(t.root());
  for (const fs::path& target : {m,
                                 m / "",
                                 m / ".",
                                 m / "..",
                                 t.root(),
                                 t.root() / "",
                                 m / "new",
                                 m / "sub",
                                 m / "sub/not/yet/there",
                                 m / "../m",
                                 t.root() / "d/../m",
                                 t.root() / "link_to_model",
                                 t.root() / "link_to_model/",
                                 t.root() / "link_to_model/inner",
                                 t.root() / "link_to_root",
                                 t.root() / "link_to_root/m",
                                 t.root() / "link_to_root/m/x/y",
                                 t.root() / "not/there/../../m",
                                 fs::path("/"),
                                 m / "config.json",
                                 m / "config.json/x"})
    for (const bool force : {false, true}) {
      EXPECT_NE(error_of([&] { build_overlay(m, target, small_change(t), force); }), "") << target;
      fs::remove_all(t.root() / "src");
      EXPECT_EQ(tree(t.root()), before) << target;
    }
}

TEST(Overlay, ASecondPlaceOfTheModelIsTheModel) {
  TemporaryModel t;
  t.publish();
  fs::create_directory(t.root() / "bound");
  const auto before = tree(t.root());
  constexpr int kCannotMount = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(t.model().c_str(), (t.root() / "bound").c_str(), nullptr, MS_BIND, nullptr) != 0)
      _exit(kCannotMount);
    for (const char* target : {"bound", "bound/new", "bound/sub"})
      if (error_of([&] { build_overlay(t.model(), t.root() / target, small_change(t), true); }).find("model") ==
          std::string::npos)
        _exit(1);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "mounting needs rights that are not here";
  EXPECT_EQ(status, 0);
  fs::remove_all(t.root() / "src");
  EXPECT_EQ(tree(t.root()), before);
}

TEST(Overlay, ATargetThatIsNotEmptyNeedsForce) {
  TemporaryModel t;
  t.publish();
  const DirectoryChange change = small_change(t);
  t.write("overlay/mine.txt", "mine");
  const auto before = tree(t.root());
  EXPECT_NE(error_of([&] { build_overlay(t.model(), t.root() / "overlay", change, false); }).find("--force"),
            std::string::npos);
  EXPECT_EQ(tree(t.root()), before);
  build_overlay(t.model(), t.root() / "overlay", change, true);
  EXPECT_FALSE(fs::exists(t.root() / "overlay/mine.txt"));
  EXPECT_TRUE(fs::exists(t.root() / "overlay/config.json"));
  fs::create_directory(t.root() / "empty");
  build_overlay(t.model(), t.root() / "empty/", change, false);
  EXPECT_TRUE(fs::exists(t.root() / "empty/config.json"));
  EXPECT_EQ(names_beside(t.root()), (std::vector<std::string>{"empty", "m", "overlay", "src"}));
}

TEST(Overlay, NamesNeedNotBeText) {
  TemporaryModel t;
  t.publish();
  const fs::path model = t.root() / "m\xff\n", target = t.root() / "overlay\xfe'\"";
  fs::rename(t.model(), model);
  const DirectoryChange change = small_change(t);
  int step = 0;
  while (killed_at(step, [&](const StepHook& hook) { build_overlay(model, target, change, true, hook); })) {
    ASSERT_LT(++step, 100);
    build_overlay(model, target, change, true);
    EXPECT_EQ(names_beside(t.root()).size(), 3u);  // model, overlay, src
  }
  EXPECT_EQ(fs::read_symlink(target / "tokenizer.json"), model / "tokenizer.json");
  EXPECT_TRUE(read_patch_record(target));
}

TEST(Overlay, AnErrorLeavesNothing) {
  TemporaryModel t;
  t.publish();
  DirectoryChange change = small_change(t);
  t.write("overlay/mine.txt", "mine");
  const auto before = tree(t.root());
  for (const char* target : {"overlay", "p/q/r"}) {
    const StepHook full = [](const std::string& step) {
      if (step.starts_with("write ")) throw std::runtime_error("the disk is full");
    };
    EXPECT_NE(error_of([&] { build_overlay(t.model(), t.root() / target, change, true, full); }), "");
    EXPECT_EQ(tree(t.root()), before);
  }
}

TEST(Overlay, TakesAwayOnlyWhatIsOurs) {
  TemporaryModel t;
  t.publish();
  const DirectoryChange change = small_change(t);
  for (const char* name : {".tilewright-overlay-0123456789abcdef/x.txt", ".tilewright-overlay-mine/new/x.txt",
                           ".tilewright-overlay-aaaaaaaaaaaaaaaa/overlay.json"})
    t.write(name, "somebody's");
  const auto before = tree(t.root());
  build_overlay(t.model(), t.root() / "overlay", change, false);
  fs::remove_all(t.root() / "overlay");
  EXPECT_EQ(tree(t.root()), before);
}

TEST(Overlay, WhatAnotherCommandBuildsBesideItStays) {
  TemporaryModel t;
  t.publish();
  Workshop other(t.root() / "other", {});
  std::ofstream(other.folder() / "file.txt") << "of the other";
  build_overlay(t.model(), t.root() / "overlay", small_change(t), false);
  EXPECT_NE(error_of([&] { Workshop again(t.root() / "other", {}); }).find("another command"), std::string::npos);
  other.put_in_place(false);
  EXPECT_EQ(t.read("other/file.txt"), "of the other");
}

TEST(Overlay, WithoutExchangeTheOldOneIsPutAside) {
  TemporaryModel t;
  t.write("overlay/old.txt", "old");
  const auto build = [&](const StepHook& hook) {
    Workshop workshop(t.root() / "overlay", hook);
    t.write(workshop.folder().lexically_relative(t.root()).string() + "/new.txt", "new");
    workshop.put_in_place(true, false);
  };
  int step = 0;
  while (killed_at(step, build)) {
    Workshop next(t.root() / "other", {});  // another command beside it
    const bool old = fs::exists(t.root() / "overlay/old.txt");
    EXPECT_NE(old, fs::exists(t.root() / "overlay/new.txt")) << step;
    fs::remove_all(t.root() / "overlay");
    t.write("overlay/old.txt", "old");
    ++step;
  }
  EXPECT_GE(step, 6);
  EXPECT_EQ(names_beside(t.root()), (std::vector<std::string>{"m", "overlay"}));
}

}  // namespace
}  // namespace tilewright::hub::test

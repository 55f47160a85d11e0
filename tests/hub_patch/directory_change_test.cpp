#include "hub/patch/directory_change.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "hub/patch/change_journal.h"
#include "hub_patch/tree.h"

namespace tilewright::hub {
namespace {

using namespace testing_trees;

class DirectoryChanges : public ::testing::Test {
 protected:
  void SetUp() override {
    put_file(model / "config.json", "{\"a\": 1}", 0444);
    put_file(model / "weights", "w");
    put_file(root / "source/mine.py", "mine\n", 0751);
  }
  DirectoryChange writing(const std::string& path, const std::string& text) const {
    DirectoryChange change;
    change.write[path] = text;
    return change;
  }
  DirectoryChange copying(const std::string& path) const {
    DirectoryChange change;
    change.copy[path] = root / "source/mine.py";
    return change;
  }
  Tree tree() const { return tree_of(root); }
  std::string text(const std::string& path) const { return bytes_of(model / path); }

  TemporaryTree folder;
  fs::path root = folder.path(), model = root / "model";
};

TEST_F(DirectoryChanges, ApplyAndRevert) {
  const Tree before = tree();
  DirectoryChange change = writing("config.json", "{}");
  change.copy["a/b/mine.py"] = root / "source/mine.py";
  change.pin = Pin{"qwen3", "1", {{"config.json", std::string(64, '0')}}};
  const Applied applied = apply_change(model, change);
  EXPECT_TRUE(applied.changed);
  EXPECT_EQ(text("config.json"), "{}");
  EXPECT_EQ(fs::status(model / "config.json").permissions(), fs::perms(0444)) << "the mode of the original";
  EXPECT_EQ(text("config.json.orig"), "{\"a\": 1}");
  EXPECT_EQ(fs::status(model / "a/b/mine.py").permissions(), fs::perms(0751)) << "the mode of the source";
  EXPECT_EQ(applied.record.folders, (std::vector<std::string>{"a/b", "a"}));
  EXPECT_EQ(read_pin(model)->files["config.json"], sha256_of_text("{}"));
  EXPECT_EQ(patched_files(model), (std::vector<std::string>{"a/b/mine.py", "config.json"}));

  const Tree patched = tree();
  EXPECT_FALSE(apply_change(model, change).changed) << "all is so already";
  EXPECT_EQ(difference(patched, tree()), "");

  const Reverted reverted = revert_change(model);
  EXPECT_EQ(reverted.restored, std::vector<std::string>{"config.json"});
  EXPECT_EQ(reverted.removed, std::vector<std::string>{"a/b/mine.py"});
  EXPECT_TRUE(reverted.kept.empty());
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, NothingToDoWritesNothing) {
  const Tree before = tree();
  EXPECT_FALSE(apply_change(model, {}).changed);
  EXPECT_FALSE(apply_change(model, writing("config.json", "{\"a\": 1}")).changed);
  EXPECT_EQ(recover_directory(model), "");
  EXPECT_TRUE(revert_change(model).restored.empty());
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, BackupsThatAreNotOursStay) {
  put_file(model / "config.json.orig", "the user's");
  put_file(model / "config.json.tilewright.orig", "the user's, too");
  const Tree before = tree();
  const Applied applied = apply_change(model, writing("config.json", "{}"));
  EXPECT_EQ(applied.record.files.at(0).backup, "config.json.tilewright.2.orig");
  EXPECT_EQ(text("config.json.orig"), "the user's");
  revert_change(model);
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, TheFirstOriginalIsTheOriginal) {
  const Tree before = tree();
  apply_change(model, writing("config.json", "{}"));
  const Applied second = apply_change(model, writing("config.json", "{\"b\": 2}"));
  EXPECT_EQ(second.record.files.size(), 1u);
  EXPECT_TRUE(second.kept.empty());
  EXPECT_EQ(text("config.json.orig"), "{\"a\": 1}");
  EXPECT_EQ(apply_change(model, copying("added.py")).record.files.size(), 2u);
  revert_change(model);
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, WhatTheUserEditedIsKept) {
  DirectoryChange change = writing("config.json", "{}");
  change.copy["sub/mine.py"] = root / "source/mine.py";
  apply_change(model, change);
  fs::remove(model / "config.json");
  put_file(model / "config.json", "{\"edited\": 1}");
  put_file(model / "sub/mine.py", "edited");
  put_file(model / "sub/later.py", "later");
  const Applied second = apply_change(model, writing("config.json", "{\"b\": 2}"));
  EXPECT_EQ(second.kept, std::vector<std::string>{"config.json.edited"});
  EXPECT_EQ(text("config.json.edited"), "{\"edited\": 1}");
  put_file(model / "config.json.edited.2", "another");
  fs::remove(model / "config.json");
  put_file(model / "config.json", "{\"edited\": 2}");
  EXPECT_EQ(revert_change(model).kept, (std::vector<std::string>{"config.json.edited.3", "sub/mine.py.edited"}));
  EXPECT_EQ(text("config.json"), "{\"a\": 1}");
  EXPECT_EQ(text("config.json.edited"), "{\"edited\": 1}");
  EXPECT_EQ(text("config.json.edited.3"), "{\"edited\": 2}");
  EXPECT_EQ(text("sub/mine.py.edited"), "edited");
  EXPECT_EQ(text("sub/later.py"), "later");
  EXPECT_FALSE(fs::exists(model / "sub/mine.py"));
  EXPECT_FALSE(fs::exists(model / ".tilewright"));
}

TEST_F(DirectoryChanges, AnOriginalThatWasPutBackByHandIsNoEdit) {
  const Tree before = tree();
  apply_change(model, writing("config.json", "{}"));
  fs::remove(model / "config.json");
  put_file(model / "config.json", "{\"a\": 1}");
  EXPECT_TRUE(revert_change(model).kept.empty());
  EXPECT_EQ(difference(before, tree()), "");
}

// Renaming one name of a file to another one of it does nothing: the backup would stay.
TEST_F(DirectoryChanges, AnOriginalThatWasLinkedBackByHand) {
  const Tree before = tree();
  apply_change(model, writing("config.json", "{}"));
  fs::remove(model / "config.json");
  fs::create_hard_link(model / "config.json.orig", model / "config.json");
  EXPECT_TRUE(revert_change(model).kept.empty());
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, LinksAreReplacedAndComeBackAsLinks) {
  put_file(root / "blobs/x", "blob");
  fs::create_symlink("../blobs/x", model / "linked.json");
  fs::create_symlink("nowhere", model / "dangling.json");
  const Tree before = tree();
  apply_change(model, writing("linked.json", "new"));
  apply_change(model, writing("dangling.json", "new"));
  EXPECT_EQ(bytes_of(root / "blobs/x"), "blob");
  EXPECT_FALSE(fs::is_symlink(model / "linked.json"));
  EXPECT_EQ(fs::read_symlink(model / "linked.json.orig"), "../blobs/x");
  EXPECT_FALSE(apply_change(model, writing("linked.json", "new")).changed);
  revert_change(model);
  EXPECT_EQ(difference(before, tree()), "");
  EXPECT_FALSE(apply_change(model, writing("linked.json", "blob")).changed) << "it says so already";
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, OtherNamesOfAnOriginalKeepItsBytes) {
  fs::create_hard_link(model / "config.json", root / "other_name");
  apply_change(model, writing("config.json", "{}"));
  EXPECT_EQ(bytes_of(root / "other_name"), "{\"a\": 1}");
  revert_change(model);
  EXPECT_EQ(fs::hard_link_count(model / "config.json"), 2u);
}

TEST_F(DirectoryChanges, RefusesPathsThatLeadElsewhere) {
  put_file(root / "outside/file", "outside");
  fs::create_directory_symlink("../outside", model / "linked");
  fs::create_directory_symlink(".", model / "self");
  fs::create_directories(model / "folder");
  ASSERT_EQ(::mkfifo((model / "pipe").c_str(), 0600), 0);
  const Tree before = tree();
  for (const char* path :
       {"linked/file", "linked/new", "self/config.json", "linked", "folder", "weights/x", "pipe", "../x", "/tmp/x",
        ".tilewright/x", ".Tilewright/x", ".tilewright", "a/../../x", "", "folder/..", "x\\y"}) {
    EXPECT_THROW(apply_change(model, copying(path)), Error) << path;
    EXPECT_THROW(apply_change(model, writing(path, "x")), Error) << path;
    EXPECT_EQ(difference(before, tree()), "") << path;
  }
  DirectoryChange both = copying("a");
  both.copy["a/b"] = root / "source/mine.py";
  EXPECT_THROW(apply_change(model, both), Error);
  both = copying("config.json");
  both.write["config.json"] = "x";
  EXPECT_THROW(apply_change(model, both), Error);
  DirectoryChange absent;
  absent.copy["a/b/c.py"] = root / "source/absent.py";
  EXPECT_THROW(apply_change(model, absent), Error);
  absent.copy["a/b/c.py"] = root / "source";
  EXPECT_THROW(apply_change(model, absent), Error);
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, OriginalsAreNotOverwritten) {
  put_file(model / "x.py.pypto_orig", "publisher's");
  put_file(model / "x.py", "theirs");
  apply_change(model, writing("config.json", "{}"));
  const Tree before = tree();
  for (const char* path : {"config.json.orig", "x.py.pypto_orig"})
    EXPECT_THROW(apply_change(model, copying(path)), Error) << path;
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, BackupsOfOtherToolsAreTheOriginals) {
  put_file(model / "config.json.pypto_orig", "publisher's", 0644);
  put_file(model / "sub/x.py", "theirs");
  put_file(model / "sub/x.py.hf_orig", "publisher's x");
  const Applied applied = apply_change(model, writing("config.json", "{}"));
  EXPECT_EQ(applied.record.files.at(0).backup, "config.json.pypto_orig");
  EXPECT_FALSE(applied.record.files.at(0).ours);
  EXPECT_FALSE(fs::exists(model / "config.json.orig"));
  EXPECT_EQ(revert_change(model).restored, (std::vector<std::string>{"config.json", "sub/x.py"}));
  EXPECT_EQ(text("config.json"), "publisher's");
  EXPECT_EQ(text("sub/x.py"), "publisher's x");
  EXPECT_TRUE(foreign_backups(model).empty());
  EXPECT_FALSE(fs::exists(model / ".tilewright"));
}

TEST_F(DirectoryChanges, RevertsWhatOnlyAnotherToolPatched) {
  put_file(model / "config.json.pypto_orig", "publisher's");
  EXPECT_EQ(revert_change(model).restored, std::vector<std::string>{"config.json"});
  EXPECT_EQ(text("config.json"), "publisher's");
  EXPECT_EQ(tree_of(model).size(), 2u);
}

// The second tool backed up what the first one had written: the older backup is the publisher's.
TEST_F(DirectoryChanges, TheOlderOfTwoForeignBackups) {
  put_file(model / "config.json.hf_orig", "publisher's");
  { std::ofstream(model / "config.json.pypto_orig") << "the first tool's"; }
  EXPECT_EQ(revert_change(model).kept, std::vector<std::string>{"config.json.pypto_orig.edited"});
  EXPECT_EQ(text("config.json"), "publisher's");
  EXPECT_TRUE(revert_change(model).restored.empty());
}

TEST_F(DirectoryChanges, AForeignToolAfterUs) {
  const Tree before = tree();
  apply_change(model, writing("config.json", "{}"));
  put_file(model / "config.json.pypto_orig", "{}");
  fs::remove(model / "config.json");
  put_file(model / "config.json", "theirs");
  EXPECT_EQ(revert_change(model).kept, std::vector<std::string>{"config.json.edited"});
  EXPECT_EQ(text("config.json.edited"), "theirs");
  fs::remove(model / "config.json.edited");
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, ALostBackupIsSaidBeforeAnythingChanges) {
  DirectoryChange change = writing("config.json", "{}");
  change.write["weights"] = "new";
  apply_change(model, change);
  fs::remove(model / "weights.orig");
  const Tree before = tree();
  EXPECT_THROW(revert_change(model), Error);
  EXPECT_EQ(difference(before, tree()), "");
  fs::create_directories(model / "weights.orig");
  EXPECT_THROW(revert_change(model), Error);
}

TEST_F(DirectoryChanges, HostileRecordsLeadNowhere) {
  put_file(root / "outside/file", "outside");
  put_file(root / "outside/file.orig", "outside, too");
  fs::create_directory_symlink("../outside", model / "sub");
  const std::string hash = sha256_of_text("outside");
  for (const Json& file :
       {Json{{"path", "sub/file"}, {"sha256", hash}}, Json{{"path", "../outside/file"}, {"sha256", hash}},
        Json{{"path", "sub/file"}, {"sha256", hash}, {"backup", "sub/file.orig"}}}) {
    put_file(model / ".tilewright/patch.json",
             Json({{"format", "tilewright-patch-1"}, {"files", {file}}, {"folders", {"sub"}}}).dump());
    const Tree before = tree();
    EXPECT_THROW(revert_change(model), Error) << file;
    EXPECT_EQ(difference(before, tree()), "") << file;
  }
}

TEST_F(DirectoryChanges, HostileJournalsLeadNowhere) {
  put_file(root / "outside/file", "outside");
  put_file(root / "outside/file.orig", "outside, too");
  fs::create_directory_symlink("../outside", model / "sub");
  const std::string hash = sha256_of_text("outside");
  const auto journal = [](const char* action, const Json& file) {
    return Json({{"format", "tilewright-journal-1"}, {"action", action}, {"files", {file}}, {"folders", Json::array()}})
        .dump();
  };
  const auto entry = [&](const char* path, const char* from, const char* was, const char* keep) {
    return Json{{"path", path}, {"from", from}, {"sha256", hash}, {"was", was}, {"keep", keep}};
  };
  for (const std::string& text :
       {journal("revert", entry("sub/file", "sub/file.orig", "", "")), journal("revert", entry("sub/file", "", "", "")),
        journal("revert", entry("../outside/file", "", "", "")),
        journal("revert", entry("config.json", "weights", "", "")),
        journal("apply", entry("sub/file", ".tilewright/new/0", "link:x", "sub/file.orig")),
        journal("apply", entry("config.json", ".tilewright/new/../../../outside/file", "", "")),
        journal("apply", entry("config.json", ".tilewright/new/0", "sha256:x", "../outside/file")),
        journal("apply", entry("config.json", ".tilewright/new/0", "", "weights")), std::string("{"), std::string("[]"),
        std::string("{\"format\": \"tilewright-journal-1\", \"action\": \"apply\", \"files\": [], \"folders\": "
                    "[\"../outside\"]}")}) {
    put_file(model / ".tilewright/journal.json", text);
    put_file(model / ".tilewright/new/0", "outside");
    const Tree before = tree();
    EXPECT_THROW(recover_directory(model), Error) << text;
    EXPECT_EQ(difference(before, tree()), "") << text;
    EXPECT_THROW(apply_change(model, writing("config.json", "{}")), Error) << "recover first";
  }
}

TEST_F(DirectoryChanges, AFullDiskChangesNothing) {
  const Tree before = tree();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200, 200};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      apply_change(model, writing("config.json", std::string(1000, 'x')));
    } catch (const Error&) {
      ::_exit(7);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, AForeignFileInTheWayOfRecoveryStays) {
  const pid_t child = ::fork();
  if (child == 0) {
    apply_change(model, writing("config.json", "{}"), [](const std::string& step) {
      if (step.rfind("keep config.json", 0) == 0) ::_exit(0);
    });
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(left_unfinished(model));
  put_file(model / "config.json.orig", "made since");
  EXPECT_THROW(revert_change(model), Error);
  EXPECT_NE(recover_directory(model), "");
  EXPECT_EQ(text("config.json"), "{\"a\": 1}");
  EXPECT_EQ(text("config.json.orig"), "made since");
  EXPECT_FALSE(fs::exists(model / ".tilewright"));
}

TEST_F(DirectoryChanges, AFileMadeSinceWhereACopyWasToGoStays) {
  const pid_t child = ::fork();
  if (child == 0) {
    apply_change(model, copying("new.py"), [](const std::string& step) {
      if (step.ends_with(" to new.py")) ::_exit(0);
    });
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  put_file(model / "new.py", "made since");
  EXPECT_NE(recover_directory(model).find("took back"), std::string::npos);
  EXPECT_EQ(text("new.py"), "made since");
  EXPECT_FALSE(fs::exists(model / ".tilewright"));
}

TEST_F(DirectoryChanges, OneCommandAtATime) {
  const Tree before = tree();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        std::optional<DirectoryLock> lock;
        if (i % 2) lock.emplace(model);  // and apply_change takes it again
        apply_change(model, writing("config.json", std::to_string(i) + " " + std::to_string(round)));
        apply_change(model, copying("c" + std::to_string(i)));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_patch_record(model)->files.size(), 5u);
  revert_change(model);
  EXPECT_EQ(difference(before, tree()), "");
}

TEST_F(DirectoryChanges, AnOverlayHasNoBackups) {
  fs::remove(model / "config.json");
  fs::create_symlink(root / "source/mine.py", model / "config.json");
  DirectoryChange change = writing("config.json", "{}");
  change.overlay_of = "/some/model";
  const Applied applied = apply_change(model, change);
  EXPECT_EQ(applied.record.overlay_of, "/some/model");
  EXPECT_EQ(applied.record.files.at(0).backup, "");
  EXPECT_FALSE(fs::exists(fs::symlink_status(model / "config.json.orig")));
  EXPECT_THROW(revert_change(model), Error);
}

}  // namespace
}  // namespace tilewright::hub

// Patching, reverting and recovering, killed before every step: config.json is the old or the new one; if it is the new
// one, all copies are in place; every original's bytes exist; the next command leaves the tree wholly old or wholly
// new; and reverting leaves what was there first.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <functional>

#include "base/error.h"
#include "hub/patch/directory_change.h"
#include "hub_patch/tree.h"

namespace tilewright::hub {
namespace {

using namespace testing_trees;

constexpr const char* kOldConfig = "{\"auto_map\": {\"AutoModel\": \"o/r--m.X\"}, \"x\": 1}";
constexpr const char* kNewConfig = "{\"x\": 1}";
constexpr const char* kCopies[] = {"modeling_x.py", "kernels/deep/new.py"};

// A model at root/model and the sources of copies at root/source.
struct KillCase {
  const char* name;
  std::function<void(const fs::path& root)> build;
  bool as_nobody = false;  // so that hard links of originals are refused, and copies are made
};

void build_plain(const fs::path& root) {
  put_file(root / "model/config.json", kOldConfig, 0600);
  put_file(root / "model/tokenizer_config.json", "{\"auto_map\": [\"o/r--t.X\", null]}", 0444);
  put_file(root / "model/modeling_x.py", "publisher's\n", 0755);
  put_file(root / "model/model.safetensors", "weights");
  fs::create_hard_link(root / "model/modeling_x.py", root / "another_name.py");
  put_file(root / "source/a.py", "ours\n", 0640);
}

void build_cache(const fs::path& root) {
  put_file(root / "blobs/aa", kOldConfig);
  put_file(root / "blobs/bb", "{\"auto_map\": [\"o/r--t.X\", null]}");
  put_file(root / "blobs/cc", "publisher's\n");
  fs::create_directories(root / "model");
  fs::create_symlink("../blobs/aa", root / "model/config.json");
  fs::create_symlink("../blobs/bb", root / "model/tokenizer_config.json");
  fs::create_symlink("../blobs/cc", root / "model/modeling_x.py");
  put_file(root / "source/a.py", "ours\n", 0640);
}

void build_foreign(const fs::path& root) {
  build_plain(root);
  put_file(root / "model/config.json.orig", "the user's own");
  put_file(root / "model/modeling_x.py.pypto_orig", "the publisher's first\n", 0444);
  put_file(root / "model/kernels/other.py", "the user's");
}

void build_copied(const fs::path& root) {
  build_plain(root);
  for (const char* folder : {"model", "source", ""}) ::chmod((root / folder).c_str(), 0777);
  for (const auto& item : fs::directory_iterator(root / "model")) ::chmod(item.path().c_str(), 0644);
  ::chmod((root / "source/a.py").c_str(), 0644);
}

DirectoryChange the_change(const fs::path& root) {
  DirectoryChange change;
  change.write["config.json"] = kNewConfig;
  change.write["tokenizer_config.json"] = "{}";
  for (const char* copy : kCopies) change.copy[copy] = root / "source/a.py";
  change.pin = Pin{"qwen3", "1", {}};
  return change;
}

[[maybe_unused]] void PrintTo(const KillCase& test, std::ostream* out) { *out << test.name; }

enum class Outcome { done, killed, failed };

// Runs it in a child that is killed before step `kill_at` (never, if 0), or in which that step throws.
Outcome run_child(const KillCase& test, const std::function<void(const StepHook&)>& body, int kill_at,
                  int throw_at = 0) {
  const pid_t child = ::fork();
  if (child == 0) {
    int steps = 0;
    if (test.as_nobody && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
    try {
      body([&](const std::string& step) {
        ++steps;
        if (steps == kill_at) ::raise(SIGKILL);
        if (steps == throw_at)
          fail({.what = "no space left, says the test", .where = step, .expected = "", .found = "", .fix = ""});
      });
    } catch (const Error& error) {
      if (!throw_at) std::fprintf(stderr, "%s\n", error.what());
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return Outcome::killed;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Outcome::done;
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << "status " << status;
  return Outcome::failed;
}

class PatchKilled : public ::testing::TestWithParam<KillCase> {
 protected:
  void SetUp() override {
    if (GetParam().as_nobody && (::geteuid() != 0 || bytes_of("/proc/sys/fs/protected_hardlinks") != "1\n"))
      GTEST_SKIP() << "needs root and fs.protected_hardlinks, to have hard links refused";
  }

  struct World {
    TemporaryTree folder;
    Tree first;
    fs::path model() const { return folder.path() / "model"; }
    Tree now(bool times = false) const { return tree_of(folder.path(), times); }
  };
  void build(World& world) const {
    GetParam().build(world.folder.path());
    world.first = world.now(true);
  }
  Outcome apply(const World& world, int kill_at = 0, int throw_at = 0) const {
    return run_child(
        GetParam(), [&](const StepHook& hook) { apply_change(world.model(), the_change(world.folder.path()), hook); },
        kill_at, throw_at);
  }
  Outcome recover(const World& world, int kill_at = 0) const {
    return run_child(
        GetParam(), [&](const StepHook& hook) { recover_directory(world.model(), hook); }, kill_at);
  }
  Outcome revert(const World& world, int kill_at = 0) const {
    return run_child(
        GetParam(), [&](const StepHook& hook) { revert_change(world.model(), hook); }, kill_at);
  }

  // What holds at every moment.
  void check_moment(const World& world, const std::string& when) const {
    const std::string config = bytes_of(world.model() / "config.json");
    ASSERT_TRUE(config == kOldConfig || config == kNewConfig) << when << ": " << config;
    if (config == kNewConfig) {
      for (const char* copy : kCopies) ASSERT_EQ(bytes_of(world.model() / copy), "ours\n") << when << ": " << copy;
      ASSERT_EQ(bytes_of(world.model() / "tokenizer_config.json"), "{}") << when;
    }
    std::set<std::pair<char, std::string>> there;
    for (const auto& [path, entry] : world.now()) there.emplace(entry.kind, entry.bytes);
    for (const auto& [path, entry] : world.first) {
      // With PyPTO-Gym's backup there, what that tool wrote is no original.
      if (world.first.count(path + ".pypto_orig")) continue;
      ASSERT_TRUE(there.count({entry.kind, entry.bytes})) << when << ": lost " << path;
    }
  }

  // Of a world that a kill left: recovery, killed at step `m` (0: not) and then run again. `more`: there are later
  // steps.
  void recover_after(const World& world, int m, const std::string& when, bool& more) const {
    ASSERT_NO_FATAL_FAILURE(check_moment(world, when));
    if (m > 0) {
      more = recover(world, m) == Outcome::killed;
      ASSERT_NO_FATAL_FAILURE(check_moment(world, when));
    }
    ASSERT_EQ(recover(world), Outcome::done) << when;
  }

  // The tree after reverting, from the first one: PyPTO-Gym's backups are put back.
  Tree reverted(const World& world) const {
    Tree tree = world.first;
    for (const auto& [path, entry] : world.first)
      if (path.size() > 11 && path.compare(path.size() - 11, 11, ".pypto_orig") == 0) {
        tree[path.substr(0, path.size() - 11)] = entry;
        tree.erase(path);
      }
    return tree;
  }

  void revert_and_compare(const World& world, const std::string& when) const {
    ASSERT_EQ(revert(world), Outcome::done) << when;
    ASSERT_EQ(difference(reverted(world), world.now(true)), "") << when;
  }
};

Tree without_times(Tree tree) {
  for (auto& [path, entry] : tree) entry.seconds = entry.nanoseconds = 0;
  return tree;
}

// Sanitizers look for other faults than a wrong order: a part of the moments is enough for them.
#ifdef TILEWRIGHT_SANITIZED
constexpr int kRecoveryStride = 6;
#else
constexpr int kRecoveryStride = 1;
#endif

TEST_P(PatchKilled, PatchAndItsRecovery) {
  Tree after;
  {
    World world;
    build(world);
    ASSERT_EQ(apply(world), Outcome::done);
    after = world.now();
    ASSERT_NE(difference(without_times(world.first), after), "");
    if (world.first.count("another_name.py") && !world.first.count("model/modeling_x.py.pypto_orig")) {
      ASSERT_EQ(fs::hard_link_count(world.model() / "modeling_x.py.orig"), GetParam().as_nobody ? 1u : 2u);
    }
    ASSERT_EQ(recover(world), Outcome::done);
    ASSERT_EQ(difference(after, world.now()), "") << "recovering a finished change";
    revert_and_compare(world, "unkilled");
  }
  bool saw_old = false, saw_new = false;
  for (int n = 1;; ++n) {
    bool more = true;
    for (int m = 0; more; m += m == 0 ? 1 : kRecoveryStride) {  // m = 0: the recovery itself is not killed
      World world;
      build(world);
      if (apply(world, n) != Outcome::killed) {
        ASSERT_GT(n, 20);
        EXPECT_TRUE(saw_old && saw_new);
        return;
      }
      const std::string when = "killed at " + std::to_string(n) + ", recovery at " + std::to_string(m);
      ASSERT_NO_FATAL_FAILURE(recover_after(world, m, when, more));
      const bool is_old = difference(world.first, world.now(true)).empty();
      if (!is_old) {
        ASSERT_EQ(difference(after, world.now()), "") << when;
      }
      (is_old ? saw_old : saw_new) = true;
      ASSERT_FALSE(left_unfinished(world.model()));
      if (m > 0) continue;
      ASSERT_EQ(apply(world), Outcome::done) << when;
      ASSERT_EQ(difference(after, world.now()), "") << when;
      ASSERT_NO_FATAL_FAILURE(revert_and_compare(world, when));
    }
  }
}

TEST_P(PatchKilled, RevertAndItsRecovery) {
  for (int n = 1;; ++n) {
    bool more = true;
    for (int m = 0; more; ++m) {
      World world;
      build(world);
      ASSERT_EQ(apply(world), Outcome::done);
      if (revert(world, n) != Outcome::killed) {
        ASSERT_GT(n, 10);
        return;
      }
      const std::string when = "killed at " + std::to_string(n) + ", recovery at " + std::to_string(m);
      ASSERT_NO_FATAL_FAILURE(recover_after(world, m, when, more));
      ASSERT_NO_FATAL_FAILURE(revert_and_compare(world, when));  // also where it is reverted already
    }
  }
}

// A step that fails, as on a full disk; and a kill while that is undone.
TEST_P(PatchKilled, FailureIsUndone) {
  for (int n = 1;; ++n) {
    const bool also_kill = n % 4 == 1;  // each takes as many runs as there are steps
    for (int m = 0; m == 0 || also_kill; ++m) {
      World world;
      build(world);
      const Outcome outcome = apply(world, m == 0 ? 0 : n + m, n);
      if (outcome == Outcome::done) {
        ASSERT_GT(n, 20);
        return;
      }
      const std::string when = "failed at " + std::to_string(n) + ", killed at " + std::to_string(n + m);
      ASSERT_NO_FATAL_FAILURE(check_moment(world, when));
      if (outcome == Outcome::failed && m > 0) break;
      if (m == 0 && bytes_of(world.model() / "config.json") != kNewConfig) {
        ASSERT_EQ(difference(world.first, world.now(true)), "") << when;
      }
      ASSERT_EQ(recover(world), Outcome::done) << when;
      ASSERT_NO_FATAL_FAILURE(check_moment(world, when));
      ASSERT_EQ(apply(world), Outcome::done) << when;
      ASSERT_NO_FATAL_FAILURE(revert_and_compare(world, when));
    }
  }
}

// A second patch over the first: killed, it is the first or the second one, and the first one's originals stay.
TEST_P(PatchKilled, SecondPatch) {
  const auto second = [&](const World& world, int kill_at) {
    return run_child(
        GetParam(),
        [&](const StepHook& hook) {
          DirectoryChange change;
          change.write["config.json"] = "{\"x\": 2}";
          change.write["modeling_x.py"] = "second\n";
          change.write["added.py"] = "added\n";
          apply_change(world.model(), change, hook);
        },
        kill_at);
  };
  Tree after;
  for (int n = 0;; ++n) {
    World world;
    build(world);
    ASSERT_EQ(apply(world), Outcome::done);
    const Tree before = world.now();
    const Outcome outcome = second(world, n);
    if (n == 0) after = world.now();
    const std::string when = "killed at " + std::to_string(n);
    ASSERT_EQ(recover(world), Outcome::done) << when;
    const std::string old_difference = difference(before, world.now()), new_difference = difference(after, world.now());
    ASSERT_TRUE(old_difference.empty() || new_difference.empty()) << when << "\n"
                                                                  << old_difference << "\n"
                                                                  << new_difference;
    ASSERT_NO_FATAL_FAILURE(revert_and_compare(world, when));
    if (n > 0 && outcome == Outcome::done) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, PatchKilled,
                         ::testing::Values(KillCase{"plain", build_plain}, KillCase{"cache", build_cache},
                                           KillCase{"foreign", build_foreign}, KillCase{"copied", build_copied, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright::hub

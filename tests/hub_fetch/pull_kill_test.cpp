// Pulls by processes that are killed, and by two at a time. The process is this program again, running PullChild alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "base/process_memory.h"
#include "hub/fetch/pull.h"
#include "hub_fetch/pull_fixture.h"

extern char** environ;

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCostOfOneKill = std::uint64_t{10} << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Not a test: what the process does that a test starts.
TEST(PullChild, Pulls) {
  if (variable("TW_PULL_ENDPOINT").empty()) GTEST_SKIP() << "a part of other tests";
  hub::HubSettings settings;
  settings.endpoint = variable("TW_PULL_ENDPOINT");
  settings.cache = variable("TW_PULL_CACHE");
  hub::PullObserver silent;
  hub::pull(settings, {.id = "org/model", .output_dir = variable("TW_PULL_OUTPUT"), .workers = 4}, silent);
  std::ofstream(variable("TW_PULL_MEMORY")) << peak_resident_bytes();
}

class KilledPullTest : public PullFixture, public ::testing::WithParamInterface<bool> {
 public:
  pid_t start() const {
    std::vector<std::string> variables = {"TW_PULL_ENDPOINT=" + server.endpoint(),
                                          "TW_PULL_CACHE=" + (root / "cache").string(),
                                          "TW_PULL_MEMORY=" + (root / "memory").string(),
                                          "TW_PULL_OUTPUT=" + (GetParam() ? (root / "model").string() : "")};
    for (char** entry = environ; *entry != nullptr; entry++) {
      if (std::string_view(*entry).substr(0, 6) != "GTEST_") variables.emplace_back(*entry);
    }
    std::vector<char*> environment;
    for (std::string& text : variables) environment.push_back(text.data());
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=PullChild.Pulls";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (root / "child.log").c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    pid_t child = -1;
    const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("a process cannot be started");
    return child;
  }
  // Exit code; -1: by a signal.
  static int wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fs::path model(const std::string& commit) const {
    return GetParam() ? root / "model" : root / "cache/models--org--model/snapshots" / commit;
  }

  // Nothing under a file's own name is anything but the file.
  void expect_nothing_half_made(const fs::path& model) const {
    for (const HubFile& file : repository.files) {
      if (fs::exists(model / file.path)) {
        EXPECT_TRUE(bytes_of_file(model / file.path) == HubServer::bytes_of(file)) << file.path;
      }
    }
  }

  // Kills at moments that cover the whole of a run, and goes on until so many have hit.
  void kill_and_resume(int kills) {
    const std::string commit = server.serve(repository);
    std::mt19937 random(20260101);
    int hits = 0, rounds = 0;
    while (hits < kills) {
      // A run that ends before it is killed leaves nothing to resume: from the beginning, then.
      server.forget_requests();
      fs::remove_all(root / "cache");
      fs::remove_all(root / "model");
      ASSERT_LT(rounds++, 10 * kills) << "a run is never killed";
      int hits_of_round = 0;
      while (hits < kills) {
        const pid_t child = start();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 400'000));
        kill(child, SIGKILL);
        if (wait_for(child) == 0) break;
        hits++, hits_of_round++;
        expect_nothing_half_made(model(commit));
      }
      ASSERT_EQ(wait_for(start()), 0) << bytes_of_file(root / "child.log");
      expect_whole(repository, model(commit));
      for (const HubFile& file : repository.files) {
        const std::uint64_t size = file.made_size == 0 ? file.bytes.size() : file.made_size;
        EXPECT_LE(server.body_bytes_sent("/" + file.path), size + hits_of_round * kCostOfOneKill) << file.path;
      }
    }
  }

  HubRepository repository = [] {
    HubRepository repository = small_repository();
    for (int i = 0; i < 3; i++) {
      repository.files.push_back(
          {.path = "w" + std::to_string(i) + ".bin", .bytes = {}, .lfs = true, .made_size = 40'000'000});
    }
    return repository;
  }();
};
INSTANTIATE_TEST_SUITE_P(Layouts, KilledPullTest, ::testing::Values(false, true),
                         [](const auto& layout) { return layout.param ? "Directory" : "Cache"; });

TEST_P(KilledPullTest, GoesOnAfterAKillAtAnyMoment) {
  const std::string kills = variable("TILEWRIGHT_KILLS");
  kill_and_resume(kills.empty() ? 4 : std::stoi(kills));  // hub_fetch.kills: 50
}

TEST_P(KilledPullTest, TwoProcessesFetchAFileOnce) {
  const std::string commit = server.serve(repository);
  server.add_rule({.target = "/resolve/", .times = 2, .stall_ms = 500});  // both are there before a body is
  const pid_t one = start(), other = start();
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(other), 0);
  expect_whole(repository, model(commit));
  EXPECT_EQ(requests_of("/revision/"), 2u);
  for (const HubFile& file : repository.files) EXPECT_EQ(requests_of("/" + file.path), 1u) << file.path;
}

TEST_P(KilledPullTest, MemoryDoesNotDependOnSizes) {
  std::uint64_t peaks[2] = {};
  for (const bool large : {false, true}) {
    for (int i = 0; i < 3; i++) {
      repository.files[repository.files.size() - 3 + i].made_size = large ? 200'000'000 : 4'000'000;
    }
    server.serve(repository);
    ASSERT_EQ(wait_for(start()), 0);
    peaks[large] = std::stoull(bytes_of_file(root / "memory"));
  }
  EXPECT_LT(peaks[1], peaks[0] + (std::uint64_t{32} << 20)) << peaks[0];  // of 600 MB that came
}

TEST_P(KilledPullTest, WaitsForAnotherProcessAndSaysSo) {
  server.serve(repository);
  server.add_rule({.target = "/w1.bin", .drip_ms = 20});
  const pid_t other = start();
  for (int i = 0; i < 10000 && requests_of("/w1.bin") == 0; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::thread watch([&] {  // killed, it leaves the file to us
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    kill(other, SIGKILL);
  });
  const hub::PullResult result = pull({.id = "org/model", .output_dir = GetParam() ? root / "model" : fs::path()});
  watch.join();
  wait_for(other);
  expect_whole(repository, result.path);
  const std::string note = "another process is fetching w1.bin, waiting";
  EXPECT_NE(told.notes.find(note), std::string::npos) << told.notes;
  EXPECT_EQ(told.notes.find(note), told.notes.rfind(note)) << "said once: " << told.notes;
}

}  // namespace
}  // namespace tilewright::test

#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace tilewright {
namespace {

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright_lock_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "below" / "x.lock";
  }
  ~FileLockTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_, path_;
};

TEST_F(FileLockTest, IsHeldByOneAtATimeAndTheFileStays) {
  {
    std::optional<FileLock> first = FileLock::try_lock(path_);
    ASSERT_TRUE(first);
    EXPECT_FALSE(FileLock::try_lock(path_));
    FileLock moved = std::move(*first);
    first.reset();
    EXPECT_FALSE(FileLock::try_lock(path_)) << "a move gave it up";
  }
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(FileLock::try_lock(path_));
}

TEST_F(FileLockTest, OfAKilledProcessIsFree) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<FileLock> lock = FileLock::try_lock(path_);
    const ssize_t written = ::write(ready[1], lock ? "y" : "n", 1);
    (void)written;
    ::alarm(60);
    for (;;) ::pause();
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(FileLock::try_lock(path_));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(FileLock::try_lock(path_));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FileLockTest, ThreadsTakeTurns) {
  std::atomic<int> inside = 0, most = 0, waits = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const FileLock lock = FileLock::lock(path_, [&] { ++waits; });
      const int now = ++inside;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      --inside;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(FileLockTest, WaitingCanBeGivenUp) {
  const FileLock held = FileLock::lock(path_);
  EXPECT_THROW(FileLock::lock(path_, [] { throw std::string("enough"); }), std::string);
}

TEST_F(FileLockTest, OnAFileThatWasRemovedExcludesNobody) {
  const FileLock old = FileLock::lock(path_);
  std::filesystem::remove(path_);
  const std::optional<FileLock> fresh = FileLock::try_lock(path_);
  EXPECT_TRUE(fresh);
  EXPECT_FALSE(FileLock::try_lock(path_));
}

// Who opened the file before it was removed, and locked it after that, would hold a lock that nobody else can see.
TEST_F(FileLockTest, FilesThatAreRemovedAllTheTimeAdmitOneAtATime) {
  std::atomic<int> inside = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1500; ++k)
        if (const std::optional<FileLock> lock = FileLock::try_lock(path_)) {
          const int now = ++inside;
          if (now > most) most = now;
          std::this_thread::yield();
          --inside;
          std::error_code ignored;
          std::filesystem::remove(path_, ignored);
        }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(FileLockTest, AFileOfAnotherUserNeedsOnlyBeReadable) {
  std::filesystem::create_directory(folder_ / "below");
  std::ofstream(path_) << "";
  std::filesystem::permissions(path_, std::filesystem::perms(0444));
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  std::thread user([&] {  // the file system's user is the thread's own
    if (::geteuid() == 0) ::setfsuid(65534);
    std::optional<FileLock> lock;
    EXPECT_NO_THROW(lock = FileLock::try_lock(path_));
    ASSERT_TRUE(lock);
    EXPECT_FALSE(FileLock::try_lock(path_));
  });
  user.join();
}

TEST_F(FileLockTest, NeverMakesAFileThroughALink) {
  std::filesystem::create_directory(folder_ / "below");
  std::filesystem::create_symlink(folder_ / "elsewhere", path_);
  EXPECT_THROW(FileLock::try_lock(path_), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
  EXPECT_THROW(FileLock::try_lock(folder_), Error);
}

}  // namespace
}  // namespace tilewright

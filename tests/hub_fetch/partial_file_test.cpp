#include "hub/fetch/partial_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "base/error.h"
#include "hub_fetch/scratch_folder.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kStep = PartialFile::kCheckpoint;

std::string random_text(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

Checksum checksum_of_text(const std::string& text, Digest::Kind kind = Digest::Kind::sha256) {
  Checksum checksum{.kind = kind, .hex = {}, .size = text.size()};
  Digest digest = checksum.begin();
  digest.update(text);
  checksum.hex = digest.hex();
  return checksum;
}

void append_text(PartialFile& partial, std::string_view text) { partial.append(std::as_bytes(std::span(text))); }

class PartialFileTest : public ScratchFolder {
 protected:
  // Goes on from what is held to the end; whether the file is then right and published as it should be.
  void finish(const std::string& text, const Checksum& checksum) {
    PartialFile partial(path_, checksum);
    const std::uint64_t held = partial.size();
    ASSERT_LE(held, text.size());
    append_text(partial, std::string_view(text).substr(held));
    ASSERT_TRUE(partial.is_whole());
    if (!partial.is_right()) {
      ASSERT_TRUE(partial.unproven());
      partial.restart();
      EXPECT_EQ(partial.size(), 0u);
      append_text(partial, text);
    }
    ASSERT_TRUE(partial.is_right());
    partial.publish(final_);
    expect_only(text);
  }
  void expect_only(const std::string& text) {
    EXPECT_TRUE(read(final_) == text);
    std::filesystem::remove(final_);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }
  // As a killed process leaves it: no destructor runs.
  void hold(const std::string& text, const Checksum& checksum, std::size_t end, unsigned seed) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::mt19937 random(seed);
      PartialFile partial(path_, checksum);
      for (std::size_t at = partial.size(); at < end;) {
        const std::size_t length = std::min<std::size_t>(1 + random() % 700'000, end - at);
        append_text(partial, std::string_view(text).substr(at, length));
        at += length;
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }

  std::filesystem::path path_ = folder_ / "x.incomplete", state_ = folder_ / "x.incomplete.state",
                        final_ = folder_ / "x";
};

TEST_F(PartialFileTest, AFileInOneGo) {
  for (const Digest::Kind kind : {Digest::Kind::sha256, Digest::Kind::sha1})
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kStep - 1, kStep, kStep + 1, 3 * kStep}) {
      const std::string text = random_text(size, 1);
      finish(text, checksum_of_text(text, kind));
    }
}

TEST_F(PartialFileTest, AKillCostsAtMostOneCheckpoint) {
  const std::string text = random_text(4 * kStep + 12345, 2);
  const Checksum checksum = checksum_of_text(text);
  std::mt19937 random(3);
  for (unsigned round = 0; round < 8; ++round) {
    std::size_t held = 0;
    for (int kills = 0; kills < 3; ++kills) {
      const std::size_t end = held + random() % (text.size() - held + 1);
      hold(text, checksum, end, round);
      const PartialFile partial(path_, checksum);
      EXPECT_LE(partial.size(), end);
      EXPECT_GT(partial.size() + kStep, end);
      EXPECT_FALSE(partial.unproven());
      held = partial.size();
    }
    finish(text, checksum);
  }
}

TEST_F(PartialFileTest, AnOrderlyEndCostsNothing) {
  const std::string text = random_text(kStep + 777, 4);
  const Checksum checksum = checksum_of_text(text);
  std::size_t held = 0;
  for (const std::size_t end : {std::size_t{5}, std::size_t{5}, kStep - 1, kStep, kStep + 3, text.size()}) {
    PartialFile partial(path_, checksum);
    EXPECT_EQ(partial.size(), held);
    append_text(partial, std::string_view(text).substr(partial.size(), end - partial.size()));
    EXPECT_EQ(partial.size(), end);
    held = end;
  }
  const PartialFile whole(path_, checksum);
  EXPECT_TRUE(whole.is_right());
}

// Cuts, growth and flips anywhere, in the bytes and in the state: what is kept is right, or is known to be unproven.
TEST_F(PartialFileTest, DamageIsFound) {
  const std::string text = random_text(3 * kStep + 4321, 5);
  const Checksum checksum = checksum_of_text(text, Digest::Kind::sha1);
  std::mt19937 random(6);
  std::uint64_t kept = 0;
  for (unsigned round = 0; round < 40; ++round) {
    hold(text, checksum, random() % (text.size() + 1), round);
    for (std::size_t damages = 1 + random() % 2; damages-- > 0;) {
      const std::filesystem::path& victim = random() % 2 ? path_ : state_;
      std::string bytes = read(victim);
      const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
      switch (random() % 5) {
        case 0:
          bytes.resize(at);
          break;
        case 1:
          bytes.insert(at, random_text(random() % 300, round));
          break;
        case 2:
          bytes += random_text(random() % (5 * kStep), round);
          break;
        case 3:
          bytes.erase(at, random() % 200);
          break;
        default:
          if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      }
      write(victim, bytes);
    }
    {
      const PartialFile partial(path_, checksum);
      kept += partial.size();
      EXPECT_FALSE(partial.unproven());
      EXPECT_TRUE(read(path_).substr(0, partial.size()) == text.substr(0, partial.size())) << round;
    }
    finish(text, checksum);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kept, 6 * kStep) << "throwing everything away would pass as well";
}

TEST_F(PartialFileTest, ADamagedLineCostsNoMoreThanItself) {
  const std::string text = random_text(4 * kStep, 7);
  const Checksum checksum = checksum_of_text(text);
  hold(text, checksum, 3 * kStep + 5, 1);
  std::string lines = read(state_);
  const std::size_t second = lines.find('\n', lines.find('\n') + 1) + 1;  // after the header and the first line
  lines[second + 30] ^= 1;
  write(state_, lines);
  EXPECT_EQ(PartialFile(path_, checksum).size(), 3 * kStep);
}

TEST_F(PartialFileTest, WhatAnotherProgramLeftIsTakenAndNotTrusted) {
  const std::string text = random_text(kStep + 99, 8);
  const Checksum checksum = checksum_of_text(text);
  write(path_, text.substr(0, 1000));
  for (int opened = 0; opened < 2; ++opened) {  // also after we gave it a state
    const PartialFile partial(path_, checksum);
    EXPECT_EQ(partial.size(), 1000u);
    EXPECT_TRUE(partial.unproven());
  }
  finish(text, checksum);
  write(path_, "wrong" + text.substr(5, 1000));
  finish(text, checksum);
  write(path_, text + "longer than it can be");
  EXPECT_EQ(PartialFile(path_, checksum).size(), 0u);
  finish(text, checksum);
  write(path_, text);
  EXPECT_TRUE(PartialFile(path_, checksum).is_right());
}

TEST_F(PartialFileTest, OfOtherContentIsNotTaken) {
  const std::string text = random_text(2 * kStep, 9), other = random_text(2 * kStep, 10);
  hold(other, checksum_of_text(other), 2 * kStep, 1);
  EXPECT_EQ(PartialFile(path_, checksum_of_text(text)).size(), 0u);
  finish(text, checksum_of_text(text));
}

TEST_F(PartialFileTest, LinksAreReplacedAndNeverWrittenThrough) {
  const std::string text = random_text(5000, 11);
  const Checksum checksum = checksum_of_text(text);
  const std::filesystem::path outside = folder_.string() + "_outside";
  write(outside, "precious");
  for (const std::filesystem::path& planted :
       {path_, state_, std::filesystem::path(path_.string() + ".state.new"), final_}) {
    std::filesystem::create_symlink(outside, planted);
    finish(text, checksum);
    EXPECT_EQ(read(outside), "precious");
  }
  std::filesystem::create_hard_link(outside, path_);
  finish(text, checksum);
  EXPECT_EQ(read(outside), "precious");
  std::filesystem::remove(outside);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  finish(text, checksum);  // and does not wait for a writer
  std::filesystem::create_directory(path_);
  EXPECT_THROW(PartialFile(path_, checksum), Error);
}

TEST_F(PartialFileTest, HasTheUsualMode) {
  const std::string text = "abc";
  const mode_t before = ::umask(027);
  for (const bool found : {false, true}) {
    if (found) {
      write(path_, "a");
      std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    }
    PartialFile partial(path_, checksum_of_text(text));
    append_text(partial, std::string_view(text).substr(partial.size()));
    partial.publish(final_);
    struct stat info {};
    EXPECT_EQ(::stat(final_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0640u);
  }
  ::umask(before);
}

TEST_F(PartialFileTest, MoreThanTheFileHasIsRefused) {
  PartialFile partial(path_, checksum_of_text("abc"));
  append_text(partial, "ab");
  EXPECT_THROW(append_text(partial, "cd"), Error);
  EXPECT_EQ(partial.size(), 2u);
  append_text(partial, "c");
  EXPECT_TRUE(partial.is_right());
  partial.remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(PartialFileTest, AFullDiskIsAnErrorAndWhatCameIsKept) {
  const std::string text = random_text(2 * kStep, 12);
  const Checksum checksum = checksum_of_text(text);
  const pid_t child = ::fork();  // the limit is the process's
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { kStep + 100, kStep + 100 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 1;
    PartialFile partial(path_, checksum);
    try {
      append_text(partial, text);
    } catch (const Error&) {
      code = partial.size() == kStep ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(PartialFile(path_, checksum).size(), kStep);
  finish(text, checksum);
  EXPECT_THROW(PartialFile(folder_ / "missing" / "x", checksum), Error);
  PartialFile partial(path_, checksum);
  append_text(partial, text);
  EXPECT_THROW(partial.publish(folder_ / "missing" / "x"), Error);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(PartialFileTest, WhatAnotherProgramChangedIsNotPublished) {
  const std::string text = random_text(5000, 15);
  const Checksum checksum = checksum_of_text(text);
  PartialFile first(path_, checksum);
  append_text(first, text);
  const PartialFile second(path_, checksum);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).put(static_cast<char>(text[0] ^ 1));
  EXPECT_TRUE(first.is_right());
  EXPECT_THROW(first.publish(final_), Error);
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_TRUE(entry.path().filename().string().starts_with("x.incomplete")) << entry.path();
}

// On file systems whose locks lock nothing, two processes have the same file open.
TEST_F(PartialFileTest, TwoAtOncePublishNothingWrong) {
  const std::string text = random_text(kStep + 500, 13);
  const Checksum checksum = checksum_of_text(text);
  std::mt19937 random(14);
  for (int round = 0; round < 25; ++round) {
    PartialFile first(path_, checksum);
    append_text(first, std::string_view(text).substr(0, random() % text.size()));
    PartialFile second(path_, checksum);
    if (random() % 3 == 0) second.restart();
    if (random() % 3 == 0) {
      first.restart();
      append_text(first, std::string(random() % 1000, 'x'));
      first.restart();
    }
    for (PartialFile* each : {&first, &second}) append_text(*each, std::string_view(text).substr(each->size()));
    for (PartialFile* each : {&second, &first}) {
      try {
        if (each->is_right()) each->publish(final_);
      } catch (const Error&) {
        continue;
      }
      EXPECT_TRUE(read(final_) == text) << round;
    }
    EXPECT_TRUE(read(final_) == text) << round;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
}

}  // namespace
}  // namespace tilewright::hub

#include "hub/fetch/names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"

namespace tilewright::hub {
namespace {

using namespace std::string_literals;

TEST(NamesTest, RepositoryIds) {
  for (const char* id : {"gpt2", "Qwen/Qwen3-1.7B", "a/b", "A_b/c.d-e", "0/1", "_/_"}) {
    EXPECT_TRUE(is_repository_id(id)) << id;
    EXPECT_NO_THROW(require_repository_id(id));
  }
  for (const std::string& id : {""s,
                                "/"s,
                                "a/"s,
                                "/a"s,
                                "a/b/c"s,
                                "a--b"s,
                                "a..b"s,
                                ".."s,
                                "a/.."s,
                                "a/.b"s,
                                ".a"s,
                                "a."s,
                                "a/b."s,
                                "-a"s,
                                "a-/b"s,
                                "a/b.git"s,
                                "a b"s,
                                "a\\b"s,
                                "caf\xc3\xa9"s,
                                "a\n"s,
                                "a\0b"s,
                                "a:b"s,
                                std::string(97, 'a')}) {
    EXPECT_FALSE(is_repository_id(id)) << id;
    EXPECT_THROW(require_repository_id(id), Error);
  }
  EXPECT_TRUE(is_repository_id(std::string(96, 'a')));
}

TEST(NamesTest, Revisions) {
  for (const char* revision : {"main", "v1.0", "refs/pr/1", "feature/a-b_c", "caf\xc3\xa9",
                               "0123456789abcdef0123456789abcdef01234567", "a+b", "#1"})
    EXPECT_NO_THROW(require_revision(revision)) << revision;
  for (const std::string& revision : {""s,       "/main"s, "main/"s, "a//b"s,   "../x"s,
                                      "a/../b"s, "a/./b"s, "."s,     ".a"s,     "a b"s,
                                      "a\\b"s,   "a:b"s,   "a?b"s,   "a*"s,     "a[b"s,
                                      "a~1"s,    "a^"s,    "a@{1}"s, "a.lock"s, "a.lock/b"s,
                                      "a."s,     "a\n"s,   "a\0b"s,  "\xff"s,   std::string(300, 'a')})
    EXPECT_THROW(require_revision(revision), Error) << revision;
}

TEST(NamesTest, SafeNamesOfFiles) {
  for (const char* name : {"config.json", ".gitattributes", "a b.txt", "folder/deep/er/x", "...", "a..b", "..a",
                           "\xe6\x97\xa5\xe6\x9c\xac.txt", "~", "$HOME", "-rf", "a/ b", "ab:c", "con", "*",
                           "model.safetensors.index.json"})
    EXPECT_EQ(unsafe_name_reason(name), "") << name;
  for (const std::string& name : {""s,
                                  "/"s,
                                  "/etc/passwd"s,
                                  "//host/share"s,
                                  "a//b"s,
                                  "a/"s,
                                  "."s,
                                  "./a"s,
                                  "a/./b"s,
                                  ".."s,
                                  "../a"s,
                                  "a/.."s,
                                  "a/../b"s,
                                  "a\\b"s,
                                  "..\\a"s,
                                  "\\\\host\\share"s,
                                  "C:"s,
                                  "C:/x"s,
                                  "c:x"s,
                                  "a/D:x"s,
                                  "a\nb"s,
                                  "a\x7f"s,
                                  "a\0b"s,
                                  "\xff"s,
                                  "\xed\xa0\x80"s,
                                  "\xc0\xae\xc0\xae/a"s,
                                  std::string(256, 'a'),
                                  std::string(3001, '/')})
    EXPECT_NE(unsafe_name_reason(name), "") << name;
}

TEST(NamesTest, ASafeNameStaysInItsFolder) {
  std::mt19937 random(2);
  int safe = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (std::size_t i = random() % 8; i-- > 0;) name += "./\\aC:\n~ "[random() % 9];
    if (!unsafe_name_reason(name).empty()) continue;
    ++safe;
    const std::filesystem::path whole = (std::filesystem::path("/root/model") / name).lexically_normal();
    EXPECT_EQ(whole.string(), "/root/model/" + name);
  }
  EXPECT_GT(safe, 200);
}

TEST(NamesTest, PlacesOfOurRecords) {
  for (const char* name :
       {".tilewright/patch.json", ".TileWright/pin.json", "sub/.tilewright/patch.json", ".tilewright"}) {
    EXPECT_TRUE(is_name_of_records(name, true)) << name;
    EXPECT_TRUE(is_name_of_records(name, false)) << name;
  }
  for (const char* name :
       {".cache/huggingface/x", ".Cache/HUGGINGFACE/download/a.metadata", ".cache/huggingface", ".cache"}) {
    EXPECT_TRUE(is_name_of_records(name, true)) << name;
    EXPECT_FALSE(is_name_of_records(name, false)) << name;
  }
  for (const char* name : {"tilewright/x", ".tilewright2", "x.tilewright", ".cache/other", "sub/.cache/huggingface/x"})
    EXPECT_FALSE(is_name_of_records(name, true)) << name;
}

TEST(NamesTest, Hashes) {
  const std::string digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  for (std::size_t length = 0; length <= 64; ++length)
    EXPECT_EQ(is_hash(digits.substr(0, length)), length == 40 || length == 64) << length;
  EXPECT_FALSE(is_hash(std::string(40, 'A')));
  EXPECT_FALSE(is_hash(std::string(39, 'a') + "/"));
  EXPECT_TRUE(is_commit(std::string(40, 'A')));
  EXPECT_FALSE(is_commit(digits));
  EXPECT_FALSE(is_commit(std::string(39, 'a') + "g"));
}

}  // namespace
}  // namespace tilewright::hub

// The cache on disk: what comes back is what was stored, and nothing else ever does.
#include "tile/binary/kernel_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <set>

#include "base/hash.h"
#include "base/mapped_file.h"

namespace tilewright::tile {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  Cache() {
    std::string pattern = testing::TempDir() + "tilewright_cache_XXXXXX";
    root = mkdtemp(pattern.data());
  }
  ~Cache() override { fs::remove_all(root); }
  KernelCache cache(std::uint64_t limit = KernelCache::kDefaultLimit) const {
    return KernelCache(root / "tilewright/kernels", KernelCache::Kind::own, limit);
  }
  fs::path root;
};

Blob blob_of(std::uint64_t seed, std::size_t size = 1000) {
  std::mt19937_64 random(seed);
  Blob out{std::vector<std::byte>(size), random() % size, random() % size};
  for (std::byte& b : out.bytes) b = static_cast<std::byte>(random());
  return out;
}
std::vector<std::byte> bytes_of(const fs::path& file) {
  const MappedFile mapped(file);
  return {mapped.bytes().begin(), mapped.bytes().end()};
}
void write_bytes(const fs::path& file, std::span<const std::byte> bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TEST_F(Cache, GivesBackWhatWasStored) {
  EXPECT_FALSE(cache().find("a"));
  cache().store("a", blob_of(1));
  cache().store("b", blob_of(2));
  EXPECT_EQ(cache().find("a"), blob_of(1));
  EXPECT_EQ(cache().find("b"), blob_of(2));
  EXPECT_FALSE(cache().find("c"));
  cache().store("a", blob_of(3));
  EXPECT_EQ(cache().find("a"), blob_of(3));
}

TEST_F(Cache, IgnoresEveryTornOrChangedFileAndMendsIt) {
  cache().store("key", blob_of(1, 100));
  const fs::path file = cache().file_of("key");
  const std::vector<std::byte> whole = bytes_of(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_kernel_file(std::span(whole).first(size), "key")) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> damaged = whole;
      damaged[at] ^= std::byte(1 << bit);
      EXPECT_FALSE(read_kernel_file(damaged, "key")) << at << " " << bit;
    }
  std::vector<std::byte> longer = whole;
  longer.push_back({});
  EXPECT_FALSE(read_kernel_file(longer, "key"));
  EXPECT_TRUE(read_kernel_file(whole, "key"));
  EXPECT_FALSE(read_kernel_file(whole, "kez"));
  write_bytes(file, std::span(whole).first(whole.size() / 2));
  EXPECT_FALSE(cache().find("key"));
  cache().store("key", blob_of(1, 100));
  EXPECT_TRUE(cache().find("key"));
}

TEST_F(Cache, IgnoresAFileOfAnotherKeyUnderItsName) {
  cache().store("a", blob_of(1));
  cache().store("b", blob_of(2));
  fs::copy_file(cache().file_of("a"), cache().file_of("b"), fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache().find("b"));
}

TEST_F(Cache, TrustsOnlyWhatOthersCannotWrite) {
  cache().store("a", blob_of(1));
  const fs::path file = cache().file_of("a"), folder = file.parent_path();
  struct stat s {};
  stat(file.c_str(), &s);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  for (const fs::path& open : {file, folder})
    for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
      const fs::perms before = fs::status(open).permissions();
      fs::permissions(open, others, fs::perm_options::add);
      EXPECT_FALSE(cache().find("a")) << open;
      fs::permissions(open, before);
      EXPECT_TRUE(cache().find("a")) << open;
    }
  const fs::path elsewhere = root / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_FALSE(cache().find("a"));  // a link could be exchanged behind our back
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache().find("a"));  // and does not wait
  cache().store("a", blob_of(1));
  EXPECT_TRUE(cache().find("a"));
}

TEST_F(Cache, WorksWithoutAFolder) {
  const KernelCache none("", KernelCache::Kind::own);
  none.store("a", blob_of(1));
  EXPECT_FALSE(none.find("a"));
  std::ofstream(root / "file") << "in the way";
  const KernelCache blocked(root / "file/kernels", KernelCache::Kind::own);
  blocked.store("a", blob_of(1));
  EXPECT_FALSE(blocked.find("a"));
  const KernelCache unwritable("/proc/tilewright/kernels", KernelCache::Kind::own);
  unwritable.store("a", blob_of(1));
  EXPECT_FALSE(unwritable.find("a"));
}

TEST_F(Cache, IsNeverWrittenWhereItShips) {
  fs::create_directories(root / "shipped");
  KernelCache(root / "shipped", KernelCache::Kind::shipped).store("a", blob_of(1));
  EXPECT_TRUE(fs::is_empty(root / "shipped"));
}

TEST_F(Cache, StaysUnderItsLimitAndKeepsWhatWasUsedLast) {
  const KernelCache small = cache(20'000);
  for (int i = 0; i < 40; ++i) {
    small.store("k" + std::to_string(i), blob_of(static_cast<std::uint64_t>(i), 2000));
    EXPECT_TRUE(small.find("k" + std::to_string(i))) << "the newest stays";
    // Files get the order of their use: the first one is used again and again.
    const auto age = [&](int k, int seconds) {
      timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
      utimensat(AT_FDCWD, small.file_of("k" + std::to_string(k)).c_str(), times, 0);
    };
    age(i, 10'000 - i);
    age(0, 20'000);
    EXPECT_TRUE(small.find("k0"));
    std::uint64_t total = 0;
    for (const auto& e : fs::directory_iterator(small.folder())) total += e.file_size();
    EXPECT_LE(total, 20'000u);
  }
  EXPECT_FALSE(small.find("k1"));
  EXPECT_TRUE(small.find("k0"));
}

TEST_F(Cache, RemovesWhatAWriterLeftBehindOnceItIsOld) {
  const KernelCache small = cache(3000);
  small.store("a", blob_of(1));
  const fs::path left = small.folder() / ".unfinished-1-1";
  std::ofstream(left) << "half";
  small.store("b", blob_of(2));
  EXPECT_TRUE(fs::exists(left));
  timespec times[2] = {{1000, 0}, {1000, 0}};
  utimensat(AT_FDCWD, left.c_str(), times, 0);
  small.store("c", blob_of(3));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Cache, ServesManyProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int p = 0; p < 6; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      const KernelCache shared = cache(30'000);  // small: others' kernels are evicted all the time
      bool good = true;
      for (int i = 0; i < 300; ++i) {
        const auto number = static_cast<std::uint64_t>((i * 7 + p) % 25);
        const std::string key = "k" + std::to_string(number);
        const std::optional<Blob> found = shared.find(key);
        good &= !found || *found == blob_of(number, 1500);
        if (!found) shared.store(key, blob_of(number, 1500));
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& e : fs::directory_iterator(cache().folder())) EXPECT_EQ(e.path().extension(), ".twk") << e.path();
}

TEST(Hash, DiffersForNearlyEqualBytes) {
  std::set<std::string> seen;
  std::string text(40, 'a');
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_TRUE(seen.insert(hash_name(hash_text(text.substr(0, size)))).second);
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text.substr(0, size);
      other[at] = '\0';
      EXPECT_TRUE(seen.insert(hash_name(hash_text(other))).second) << size << " " << at;
    }
  }
}

}  // namespace
}  // namespace tilewright::tile

#include "base/digest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/error.h"

namespace tilewright {
namespace {

TEST(DigestTest, AgreesWithPublishedSums) {  // FIPS 180's examples, and what git says of an empty file and of "hello\n"
  EXPECT_EQ(sha256_of_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Digest sha1(Digest::Kind::sha1);
  sha1.update(std::string_view("abc"));
  EXPECT_EQ(sha1.hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(git_blob_digest(0).hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  Digest git = git_blob_digest(6);
  git.update(std::string_view("hello\n"));
  EXPECT_EQ(git.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(DigestTest, PiecesCopiesAndLooksChangeNothing) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text(random() % 500, '\0');
    for (char& c : text) c = static_cast<char>(random());
    Digest digest(Digest::Kind::sha256);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = std::min<std::size_t>(random() % 70, text.size() - at);
      digest.update(std::string_view(text).substr(at, length));
      at += length;
      if (random() % 2) {
        Digest copy(digest);
        digest.update(std::string_view("goes astray"));
        digest = copy;
      }
      EXPECT_EQ(digest.hex(), sha256_of_text(text.substr(0, at)));
    }
  }
}

TEST(DigestTest, OfAFileIsThatOfItsBytes) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tilewright_digest_" + std::to_string(::getpid()));
  const std::string text(3'000'001, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(sha256_of_file(path), sha256_of_text(text));
  std::filesystem::remove(path);
  EXPECT_THROW(sha256_of_file(path), Error);
  EXPECT_THROW(sha256_of_file(path.parent_path()), Error);
}

}  // namespace
}  // namespace tilewright

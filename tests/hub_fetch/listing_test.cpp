#include "hub/fetch/listing.h"

#include <random>

#include "base/error.h"
#include "hub_fetch/scratch_folder.h"

namespace tilewright::hub {
namespace {

const std::string kSha1(40, 'a'), kSha256(64, 'b');

std::string file_entry(const std::string& path, const std::string& rest = R"("size":3)") {
  return R"({"type":"file","path":")" + path + R"(","oid":")" + kSha1 + "\"," + rest + "}";
}

TEST(ListingTest, APageOfTheHub) {
  const ListingPage page = parse_listing_page(
      R"([{"type":"directory","oid":")" + kSha1 + R"(","size":0,"path":"a"},)" +
          file_entry("a/b", R"("size":7,"new":{"field":[1]})") + "," +
          file_entry("w.safetensors", R"("size":9,"lfs":{"oid":")" + std::string(64, 'B') +
                                          R"(","size":9,"pointerSize":134},"xetHash":")" + kSha256 + "\"") +
          "]",
      "page");
  EXPECT_EQ(page.folders, std::vector<std::string>{"a"});
  ASSERT_EQ(page.files.size(), 2u);
  EXPECT_EQ(page.files[0], (RemoteFile{.path = "a/b", .size = 7, .blob_id = kSha1}));
  EXPECT_EQ(page.files[0].etag(), kSha1);
  EXPECT_EQ(page.files[1],
            (RemoteFile{.path = "w.safetensors", .size = 9, .blob_id = kSha1, .sha256 = kSha256, .xet_hash = kSha256}));
  EXPECT_EQ(page.files[1].etag(), kSha256);
  EXPECT_TRUE(parse_listing_page("[]", "page").files.empty());
}

TEST(ListingTest, TheSizeOfAnLfsFileIsNotItsPointers) {
  const ListingPage page = parse_listing_page(
      "[" + file_entry("w", R"("size":134,"lfs":{"oid":")" + kSha256 + R"(","size":5000000000})") + "]", "page");
  EXPECT_EQ(page.files[0].size, 5'000'000'000u);
}

TEST(ListingTest, WhatIsNoListingIsRefused) {
  for (const std::string& text :
       {std::string(),
        std::string("{}"),
        std::string("[1]"),
        std::string("<html>"),
        std::string(R"({"error":"busy"})"),
        std::string("null"),
        std::string("[null]"),
        std::string("["),
        "[" + file_entry("../x") + "]",
        "[" + file_entry("/etc/passwd") + "]",
        "[" + file_entry("a\\\\b") + "]",
        "[" + file_entry("C:/x") + "]",
        "[" + file_entry("//host/share") + "]",
        "[" + file_entry("a\\u0000b") + "]",
        "[" + file_entry("") + "]",
        "[" + file_entry("a", R"("size":-1)") + "]",
        "[" + file_entry("a", R"("size":null)") + "]",
        "[" + file_entry("a", R"("size":"3")") + "]",
        "[" + file_entry("a", R"("size":1e300)") + "]",
        "[" + file_entry("a", R"("size":99999999999999999999)") + "]",
        "[" + file_entry("a", R"("x":1)") + "]",
        "[" + file_entry("a", R"("size":1,"lfs":{})") + "]",
        "[" + file_entry("a", R"("size":1,"lfs":3)") + "]",
        "[" + file_entry("a", R"("size":1,"lfs":{"oid":"../../x","size":1})") + "]",
        "[" + file_entry("a", R"("size":1,"lfs":{"oid":")" + kSha1 + R"(","size":1})") + "]",
        "[" + file_entry("a", R"("size":1,"lfs":{"oid":")" + kSha256 + R"(","size":-1})") + "]",
        "[" + file_entry("a", R"("size":1,"xetHash":"x")") + "]",
        std::string(R"([{"type":"file","path":"a","size":1}])"),
        std::string(R"([{"type":"file","path":"a","size":1,"oid":"../../../etc"}])"),
        std::string(R"([{"type":"directory","path":".."}])"),
        R"([{"type":"device","path":"a","size":1,"oid":")" + kSha1 + "\"}]"})
    EXPECT_THROW(parse_listing_page(text, "page"), Error) << text;
}

TEST(ListingTest, AnUnsafeNameIsNamed) {
  try {
    parse_listing_page("[" + file_entry("good") + "," + file_entry("../evil") + "]", "page");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("../evil"), std::string::npos);
  }
}

TEST(ListingTest, DescriptionsOfRepositories) {
  const std::string sha = "\"sha\":\"" + kSha1 + "\"";
  EXPECT_EQ(parse_repository_info("{" + sha + "}", "info").commit, kSha1);
  EXPECT_EQ(parse_repository_info("{" + sha + R"(,"siblings":null})", "info").siblings.size(), 0u);
  EXPECT_EQ(
      parse_repository_info("{" + sha + R"(,"siblings":[{"rfilename":"a/b"},{"rfilename":"c","size":3}]})", "info")
          .siblings,
      (std::vector<std::string>{"a/b", "c"}));
  for (const std::string& text :
       {std::string("{}"), std::string("[]"), std::string(R"({"sha":"main"})"), R"({"sha":")" + kSha256 + "\"}",
        "{" + sha + R"(,"siblings":[{"rfilename":"../a"}]})", "{" + sha + R"(,"siblings":[3]})",
        "{" + sha + R"(,"siblings":{}})", "{" + sha + R"(,"siblings":[{}]})"})
    EXPECT_THROW(parse_repository_info(text, "info"), Error) << text;
}

TEST(ListingTest, TheNextPage) {
  const auto next = [](std::string_view header) { return next_page(header).value_or("none"); };
  EXPECT_EQ(next("<https://h/x?cursor=a%3D&recursive=true>; rel=\"next\""), "https://h/x?cursor=a%3D&recursive=true");
  EXPECT_EQ(next("<u>;rel=next"), "u");
  EXPECT_EQ(next("<u>; title=\"a, <b>; rel=x\"; REL=\"prev NEXT\""), "u");
  EXPECT_EQ(next("<a,b;c>; rel=\"prev\", <d>; rel=\"next\""), "d");
  EXPECT_EQ(next("<a>; rel=\"first\" , <b>; foo; rel = next , <c>; rel=\"last\""), "b");
  for (const char* none : {"", "u; rel=next", "<u", "<u>", "<u>; rel=\"prev\"", "<>; rel=next", "<u>; rel=\"nextish\"",
                           "<u>; rel=\"", "<u>; rel", "<u>;;;;", ",,,"})
    EXPECT_EQ(next(none), "none") << none;
}

TEST(ListingTest, AWholeListingHasEachNameOnce) {
  const auto file = [](const std::string& path, std::uint64_t size = 1) {
    return RemoteFile{.path = path, .size = size, .blob_id = kSha1};
  };
  const std::vector<RemoteFile> sorted = whole_listing({file("b"), file("a/x"), file("a-b"), file("a/x")}, "list");
  EXPECT_EQ(sorted, (std::vector<RemoteFile>{file("a-b"), file("a/x"), file("b")}));
  EXPECT_THROW(whole_listing({file("a"), file("a", 2)}, "list"), Error);
  EXPECT_THROW(whole_listing({file("a/b/c"), file("a.x"), file("a-x"), file("a")}, "list"), Error);
  EXPECT_THROW(whole_listing({file("a/b/c"), file("a/b")}, "list"), Error);
}

class TreeFileTest : public ScratchFolder {};

TEST_F(TreeFileTest, IsReadAsItWasWritten) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<RemoteFile> files;
    for (std::size_t i = 0; i < random() % 20; ++i) {
      RemoteFile file{.path = "f\xc3\xa9 \"" + std::to_string(i) + "\"/x",
                      .size = (std::uint64_t{random()} << 20),
                      .blob_id = kSha1};
      if (random() % 2) file.sha256 = kSha256;
      if (random() % 2) file.xet_hash = std::string(64, 'c');
      files.push_back(file);
    }
    files = whole_listing(std::move(files), "list");
    const std::filesystem::path path = folder_ / "trees" / "x.json";
    write_tree_file(path, files);
    const auto again = read_tree_file(path);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, files);
  }
}

TEST_F(TreeFileTest, WhatIsDamagedIsAsked) {
  const std::filesystem::path path = folder_ / "x.json";
  EXPECT_FALSE(read_tree_file(path));
  write_tree_file(path, {{.path = "a", .size = 3, .blob_id = kSha1}});
  const std::string good = read(path);
  for (std::size_t cut = 0; cut < good.size(); ++cut) {
    write(path, good.substr(0, cut));
    EXPECT_FALSE(read_tree_file(path)) << cut;
  }
  const std::string entry = R"({"size":3,"blob_id":")" + kSha1 + "\"}";
  for (const std::string& text :
       {R"({"format_version":2,"files":{"a":)" + entry + "}}", R"({"files":{"a":)" + entry + "}}",
        R"({"format_version":1,"files":{"../a":)" + entry + "}}",
        R"({"format_version":1,"files":{"a":)" + entry + R"(,"a/b":)" + entry + "}}",
        std::string(R"({"format_version":1,"files":[]})"), std::string(R"({"format_version":1})"),
        std::string(R"({"format_version":1,"files":{"a":3}})"),
        std::string(R"({"format_version":1,"files":{"a":{"size":3,"blob_id":"x"}}})"), std::string("[]")}) {
    write(path, text);
    EXPECT_FALSE(read_tree_file(path)) << text;
  }
  write(path, R"({"format_version":1,"files":{"a":)" + entry + "}}");
  EXPECT_TRUE(read_tree_file(path));
}

TEST_F(TreeFileTest, ReplacesALinkAndBearsAFolderThatCannotBeWritten) {
  write(folder_ / "outside", "precious");
  std::filesystem::create_symlink(folder_ / "outside", folder_ / "x.json");
  write_tree_file(folder_ / "x.json", {});
  EXPECT_EQ(read(folder_ / "outside"), "precious");
  EXPECT_TRUE(read_tree_file(folder_ / "x.json"));
  EXPECT_NO_THROW(write_tree_file(folder_ / "outside" / "x.json", {}));
}

}  // namespace
}  // namespace tilewright::hub

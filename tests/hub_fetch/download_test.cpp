#include "hub/fetch/download.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {
namespace {

constexpr std::uint64_t kMade = 5'000'000;

struct Trouble {
  std::string name;
  std::uint64_t held = 0;  // by an earlier run
  std::vector<Rule> rules = {};
  std::uint64_t most_bytes =
      0;                     // that the server may have to send; 0: any number. The sum would put other faults right
  std::size_t requests = 0;  // 0: any number
};

class DownloadTest : public PullFixture {
 public:
  DownloadTest() {
    repository = {.id = "org/model",
                  .files = {{.path = "w.safetensors", .bytes = {}, .lfs = true, .made_size = kMade}}};
    commit = server.serve(repository);
    right = HubServer::bytes_of(repository.files[0]);
    checksum = {.kind = Digest::Kind::sha256, .hex = HubServer::etag_of(repository.files[0]), .size = kMade};
  }

  void hold(std::uint64_t bytes) const {
    std::filesystem::remove(partial_path());
    std::filesystem::remove(partial_path().string() + ".state");
    if (bytes == 0) return;
    hub::PartialFile partial(partial_path(), checksum);
    partial.append(std::as_bytes(std::span(right.data(), bytes)));
  }
  std::filesystem::path partial_path() const { return root / "w.partial"; }

  void run() {
    const hub::HubSettings set = settings();
    hub::HttpClient http(set, options());
    const hub::HubClient hub(set, http);
    hub::PartialFile partial(partial_path(), checksum);
    hub::download(http, hub, hub.file_url("org/model", commit, "w.safetensors"), "w.safetensors", partial,
                  [&](std::uint64_t bytes) { held = bytes; });
    partial.publish(root / "w");
  }
  std::string run_error() {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  HubRepository repository;
  std::string commit, right;
  hub::Checksum checksum;
  std::atomic<std::uint64_t> held = 0;
};

Rule body_rule(Rule rule) {
  rule.target = "/resolve/";
  return rule;
}

TEST_F(DownloadTest, ComesThroughWhateverTheServerDoes) {
  const std::uint64_t some = 3'000'000;  // over a checkpoint of the partial file
  const std::uint64_t earlier = std::uint64_t{0} - 1000;
  const std::vector<Trouble> troubles = {
      {.name = "none"},
      {.name = "resumed", .held = some},
      {.name = "whole already", .held = kMade},
      {.name = "reset", .rules = {{.drop_after = 1'000'000}, {.drop_after = 7}}},
      {.name = "reset at once", .rules = {{.drop_after = 0}}},
      {.name = "early end", .held = some, .rules = {{.drop_after = 100'000, .close_early = true}}},
      {.name = "resets forever, with progress", .rules = {{.times = -1, .drop_after = 400'000}}},
      {.name = "no Range", .held = some, .rules = {{.times = -1, .ignore_range = true}}, .most_bytes = kMade},
      {.name = "no Range, and a reset", .held = some, .rules = {{.drop_after = 4'000'000, .ignore_range = true}}},
      {.name = "slice with 200", .held = some, .rules = {{.times = -1, .slice_with_200 = true}}},
      {.name = "slice with 200 that does not say where",
       .held = some,
       .rules = {{.headers = {{"Content-Range", ""}}, .slice_with_200 = true}}},
      {.name = "another place", .held = some, .rules = {{.shift_range = 1000}}, .most_bytes = 2 * kMade - some - 1000},
      {.name = "an earlier place",
       .held = some,
       .rules = {{.shift_range = earlier}},
       .most_bytes = kMade - some + 1000,
       .requests = 2},
      {.name = "an earlier place with 200",
       .held = some,
       .rules = {{.slice_with_200 = true, .shift_range = earlier}},
       .most_bytes = kMade - some + 1000,
       .requests = 2},
      {.name = "a place in another file",
       .held = some,
       .rules = {{.headers = {{"Content-Range", "bytes 3000000-4999999/6000000"}}}},
       .requests = 2},
      {.name = "always another place", .held = some, .rules = {{.times = -1, .shift_range = 1000}}},
      {.name = "another place that is not told",
       .held = some,
       .rules = {{.headers = {{"Content-Range", ""}}, .shift_range = 1000}}},
      {.name = "gzip", .rules = {{.times = -1, .gzip = true}}},
      {.name = "gzip to a Range", .held = some, .rules = {{.times = -1, .gzip = true}}},
      {.name = "gzip once", .held = some, .rules = {{.gzip = true}}},
      {.name = "no length", .rules = {{.times = -1, .no_length = true}}},
      {.name = "no length, and a reset", .rules = {{.drop_after = 1'000'000, .no_length = true}}},
      {.name = "no length, and an early end",
       .rules = {{.drop_after = 1'000'000, .close_early = true, .no_length = true}}},
      {.name = "chunked", .held = some, .rules = {{.times = -1, .chunked = true}}},
      {.name = "length too large", .rules = {{.claim_length = kMade + 1000}}},
      {.name = "length too small", .rules = {{.claim_length = kMade - 1000}}},
      {.name = "length too small for a Range", .held = some, .rules = {{.claim_length = 1000}}},
      {.name = "416", .held = some, .rules = {{.status = 416}}},
      {.name = "503", .rules = {{.times = 3, .status = 503}}},
      {.name = "a page instead", .rules = {{.body = "<html>log in</html>"}}},
      {.name = "a page instead, of no length", .rules = {{.body = "<html>log in</html>", .no_length = true}}},
      {.name = "wrong byte in the first of two pieces", .rules = {{.drop_after = 100'000, .flip_byte = 17}}},
      {.name = "wrong byte behind what was held", .held = some, .rules = {{.flip_byte = some + 1}}},
      {.name = "a wrong byte, then resets with progress",
       .rules = {{.drop_after = 4'900'000, .flip_byte = 17}, {}, {.times = -1, .drop_after = 600'000}}},
      {.name = "more than the file has", .rules = {{.body = right + "more", .no_length = true}}},
  };
  for (const Trouble& trouble : troubles) {
    SCOPED_TRACE(trouble.name);
    server.clear_rules();
    server.forget_requests();
    std::filesystem::remove(root / "w");
    hold(trouble.held);
    for (const Rule& rule : trouble.rules) server.add_rule(body_rule(rule));
    EXPECT_EQ(run_error(), "");
    EXPECT_TRUE(bytes_of_file(root / "w") == right);
    EXPECT_FALSE(std::filesystem::exists(partial_path()));
    EXPECT_EQ(held, kMade);
    if (trouble.most_bytes > 0) {
      EXPECT_LE(server.body_bytes_sent("/resolve/"), trouble.most_bytes);
    }
    if (trouble.requests > 0) {
      EXPECT_EQ(body_requests(), trouble.requests);
    }
    if (trouble.held == kMade) {
      EXPECT_EQ(body_requests(), 0u);
    }
  }
}

TEST_F(DownloadTest, AsksForWhatIsLackingOnly) {
  server.add_rule(body_rule({.drop_after = 3'000'000}));
  server.add_rule(body_rule({.drop_after = 1'000'000}));
  run();
  EXPECT_EQ(body_requests(), 3u);
  EXPECT_LE(server.body_bytes_sent("/resolve/"), kMade + 2 * (std::uint64_t{10} << 20));
  EXPECT_EQ(server.requests()[1].headers.at("range"), "bytes=3000000-");
  EXPECT_EQ(server.requests()[0].headers.at("accept-encoding"), "identity");
  EXPECT_EQ(server.requests()[0].headers.count("range"), 0u);
}

TEST_F(DownloadTest, NamesFileAndSumsIfTheBytesAreWrong) {
  server.add_rule(body_rule({.times = -1, .flip_byte = 1234}));
  const std::string error = run_error();
  std::string wrong = right;
  wrong[1234] ^= 0x20;
  Digest digest(Digest::Kind::sha256);
  digest.update(std::string_view(wrong));
  EXPECT_NE(error.find("w.safetensors"), std::string::npos) << error;
  EXPECT_NE(error.find(checksum.hex), std::string::npos) << error;
  EXPECT_NE(error.find(digest.hex()), std::string::npos) << error;
  EXPECT_EQ(body_requests(), 1u);  // all of it came in one piece: another try would be no better
  EXPECT_EQ(names_below(root), std::vector<std::string>{});

  server.clear_rules();
  server.forget_requests();
  run();
  EXPECT_EQ(server.body_bytes_sent("/resolve/"), kMade);  // afresh
  EXPECT_TRUE(bytes_of_file(root / "w") == right);
}

TEST_F(DownloadTest, BytesOfAnUnknownOriginAreFetchedAgainIfTheyAreWrong) {
  std::string damaged = right.substr(0, 4'000'000);
  damaged[10] ^= 1;
  std::ofstream(partial_path(), std::ios::binary) << damaged;
  run();
  EXPECT_TRUE(bytes_of_file(root / "w") == right);
}

// Killed before the sum was compared.
TEST_F(DownloadTest, WrongBytesThatAnEarlierRunLeftAreFetchedAgain) {
  std::string wrong = right;
  wrong[10] ^= 1;
  { hub::PartialFile(partial_path(), checksum).append(std::as_bytes(std::span(wrong))); }
  run();
  EXPECT_TRUE(bytes_of_file(root / "w") == right);
  EXPECT_EQ(server.body_bytes_sent("/resolve/"), kMade);
}

TEST_F(DownloadTest, ARangeThatTheServerDoesNotHaveIsNotAskedForAgain) {
  hold(3'000'000);
  server.add_rule(body_rule({.status = 416}));
  run();
  ASSERT_EQ(body_requests(), 2u);
  EXPECT_EQ(server.requests()[0].headers.count("range"), 1u);
  EXPECT_EQ(server.requests()[1].headers.count("range"), 0u);
}

TEST_F(DownloadTest, DamageToAPartialFileIsFoundBeforeItIsUsed) {
  hold(4'500'000);
  {
    std::fstream file(partial_path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3'000'000);
    file.put(static_cast<char>(right[3'000'000] ^ 1));
  }
  run();
  EXPECT_TRUE(bytes_of_file(root / "w") == right);
  EXPECT_EQ(body_requests(), 1u);
}

TEST_F(DownloadTest, GivesUpAfterTheTriesOfItsPolicy) {
  server.add_rule(body_rule({.times = -1, .drop_after = 0}));
  EXPECT_NE(run_error().find("w.safetensors"), std::string::npos);
  EXPECT_EQ(body_requests(), 5u);
  for (const Rule& rule : std::vector<Rule>{{.times = -1, .claim_length = kMade + 1},
                                            {.times = -1, .status = 503},
                                            {.times = -1, .body = "<html></html>"},
                                            {.times = -1, .body = "<html></html>", .no_length = true}}) {
    server.clear_rules();
    server.forget_requests();
    hold(0);
    server.add_rule(body_rule(rule));
    EXPECT_NE(run_error().find("w.safetensors"), std::string::npos) << run_error();
    EXPECT_FALSE(std::filesystem::exists(root / "w"));
  }
  server.stop();
  EXPECT_THROW(run(), hub::Unreachable);
}

TEST_F(DownloadTest, AFileThatIsGoneIsNoMatterOfMoreTries) {
  server.add_rule(body_rule({.times = -1, .status = 404}));
  EXPECT_NE(run_error().find("w.safetensors"), std::string::npos);
  EXPECT_EQ(body_requests(), 1u);
}

TEST_F(DownloadTest, EndsWhenItIsInterruptedAndKeepsWhatCame) {
  server.add_rule(body_rule({.drip_ms = 1}));
  std::thread user([&] {
    for (int i = 0; i < 10000 && held < 10'000; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    interrupted = true;
  });
  EXPECT_THROW(run(), hub::Interrupted);
  user.join();
  EXPECT_GT(std::filesystem::file_size(partial_path()), 0u);
  EXPECT_LT(std::filesystem::file_size(partial_path()), kMade);
  interrupted = false;
  server.clear_rules();
  run();
  EXPECT_TRUE(bytes_of_file(root / "w") == right);
}

TEST(ContentRange, IsReadOrRefused) {
  const auto whole = hub::parse_content_range("bytes 5-9/20");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->first, 5u);
  EXPECT_EQ(whole->last, 9u);
  EXPECT_EQ(whole->total, 20u);
  EXPECT_FALSE(hub::parse_content_range("bytes 5-9/*")->total);
  EXPECT_FALSE(hub::parse_content_range("bytes */20")->first);
  for (const char* wrong : {"", "bytes", "bytes 5-9", "bytes 9-5/20", "bytes 5-20/20", "bytes -5/20", "bytes 5-/20",
                            "bytes 5-9/", "bytes 18446744073709551616-18446744073709551617/*", "lines 5-9/20",
                            "bytes 0x5-9/20", "bytes 5-9/20/30", "bytes +5-9/20"}) {
    EXPECT_FALSE(hub::parse_content_range(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tilewright::test

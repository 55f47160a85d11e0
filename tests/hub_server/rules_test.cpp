// Each kind of misbehaviour is seen on the wire as it was ordered, and only where it was ordered.
#include <gtest/gtest.h>

#include <chrono>

#include "base/json.h"
#include "hub_server/hub_answer.h"
#include "hub_server/hub_server.h"
#include "hub_server/raw_client.h"

namespace tilewright::test {
namespace {

class Rules : public ::testing::Test {
 protected:
  Rules() {
    server.serve({.id = "org/r", .files = {file, {.path = "config.json", .bytes = "{}"}}});
    bytes = HubServer::bytes_of(file);
  }
  RawAnswer get(const std::string& headers = "") {
    return ask(server.endpoint(), "GET", "/org/r/resolve/main/model.safetensors", headers);
  }
  RawAnswer with(Rule rule, const std::string& headers = "") {
    server.add_rule(std::move(rule));
    RawAnswer answer = get(headers);
    server.clear_rules();
    return answer;
  }

  const HubFile file{.path = "model.safetensors", .bytes = {}, .lfs = true, .made_size = 700'000};
  std::string bytes;
  HubServer server;
};

TEST_F(Rules, CountForTheRequestsTheyName) {
  server.add_rule({.method = "GET", .target = "model", .skip = 1, .times = 2, .status = 503});
  EXPECT_EQ(ask(server.endpoint(), "HEAD", "/org/r/resolve/main/model.safetensors").status, 200);
  EXPECT_EQ(ask(server.endpoint(), "GET", "/org/r/resolve/main/config.json").status, 200);
  std::vector<int> statuses;
  for (int i = 0; i < 4; ++i) statuses.push_back(get().status);
  EXPECT_EQ(statuses, (std::vector<int>{200, 503, 503, 200}));
  server.add_rule({.times = -1, .status = 500});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get().status, 500);
  server.clear_rules();
  EXPECT_EQ(get().status, 200);
}

TEST_F(Rules, SetStatusHeadersAndBody) {
  RawAnswer answer = with({.status = 429, .headers = {{"ratelimit", "\"api\";r=0;t=55"}, {"x-request-id", ""}}});
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.headers.at("ratelimit"), "\"api\";r=0;t=55");
  EXPECT_EQ(answer.headers.count("x-request-id"), 0u);
  EXPECT_EQ(answer.headers.count("etag"), 0u);
  answer = with({.headers = {{"etag", "\"other\""}}, .body = "short"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "short");
  EXPECT_EQ(answer.headers.at("content-length"), "5");
  EXPECT_EQ(answer.headers.at("etag"), "\"other\"");
}

TEST_F(Rules, DropAfterExactlySoManyBytes) {
  for (const std::uint64_t count : {0u, 1u, 1000u, 699'999u}) {
    for (const bool early : {false, true}) {
      const RawAnswer answer = with({.drop_after = count, .close_early = early});
      EXPECT_EQ(answer.status, 200);
      EXPECT_TRUE(answer.body == bytes.substr(0, count)) << answer.body.size() << " of " << count;
      EXPECT_EQ(answer.reset, !early) << count;
      EXPECT_EQ(answer.headers.at("content-length"), "700000");
    }
  }
  EXPECT_TRUE(with({.drop_after = 10}, "Range: bytes=500-\r\n").body == bytes.substr(500, 10));
}

TEST_F(Rules, AnswerRangesWrongly) {
  const std::string range = "Range: bytes=1000-\r\n";
  RawAnswer answer = with({.ignore_range = true}, range);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.body == bytes);
  answer = with({.slice_with_200 = true}, range);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-range"), "bytes 1000-699999/700000");
  EXPECT_TRUE(answer.body == bytes.substr(1000));
  answer = with({.shift_range = 50}, range);
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.headers.at("content-range"), "bytes 1050-699999/700000");
  EXPECT_TRUE(answer.body == bytes.substr(1050));
  answer = with({.status = 416}, range);
  EXPECT_EQ(answer.status, 416);
}

TEST_F(Rules, CompressWhatWasNotAskedFor) {
  const RawAnswer answer = with({.gzip = true}, "Range: bytes=1000-\r\nAccept-Encoding: identity\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-encoding"), "gzip");
  EXPECT_TRUE(answer.body == gzip_of(bytes));
  // RFC 1952: header, one stored block, CRC-32 ("123456789" is the check value of that), length.
  const std::string expected(
      "\x1f\x8b\x08\0\0\0\0\0\0\xff\1\x09\0\xf6\xff"
      "123456789"
      "\x26\x39\xf4\xcb\x09\0\0\0",
      32);
  EXPECT_EQ(gzip_of("123456789"), expected);
}

TEST_F(Rules, LeaveLengthsOutOrSayWrongOnes) {
  RawAnswer answer = with({.no_length = true});
  EXPECT_EQ(answer.headers.count("content-length"), 0u);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(answer.body == bytes);
  answer = with({.claim_length = 699'000});
  EXPECT_EQ(answer.headers.at("content-length"), "699000");
  EXPECT_TRUE(answer.body == bytes);
  answer = with({.chunked = true});
  EXPECT_EQ(answer.headers.count("content-length"), 0u);
  std::string joined;
  for (std::size_t at = 0;;) {
    const std::size_t length = std::stoul(answer.body.substr(at), nullptr, 16);
    if (length == 0) break;
    at = answer.body.find("\r\n", at) + 2;
    joined += answer.body.substr(at, length);
    at += length + 2;
  }
  EXPECT_TRUE(joined == bytes);
}

TEST_F(Rules, SpoilOneByte) {
  for (const std::uint64_t place : {0u, 300'000u, 699'999u}) {
    std::string body = with({.flip_byte = place}).body;
    ASSERT_EQ(body.size(), bytes.size());
    EXPECT_NE(body[place], bytes[place]);
    body[place] = bytes[place];
    EXPECT_TRUE(body == bytes);
  }
  const std::string part = with({.flip_byte = 5000}, "Range: bytes=5000-5009\r\n").body;
  EXPECT_NE(part[0], bytes[5000]);
  EXPECT_EQ(part.substr(1), bytes.substr(5001, 9));
}

TEST_F(Rules, SendSlowly) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(with({.drip_ms = 5, .stall_ms = 50}, "Range: bytes=0-5119\r\n").body == bytes.substr(0, 5120));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50 + 5 * 5));
}

TEST_F(Rules, RedirectAndCallBack) {
  int calls = 0;
  RawAnswer answer = with({.redirect = "/other?a=b", .on_request = [&] { ++calls; }});
  EXPECT_EQ(answer.status, 302);
  EXPECT_EQ(answer.headers.at("location"), "/other?a=b");
  EXPECT_EQ(calls, 1);
  answer = with({.status = 308, .redirect = "http://127.0.0.1:1/x"});
  EXPECT_EQ(answer.status, 308);
  server.add_rule({.redirect = "http://127.0.0.1:1{path}?{query}"});
  answer = ask(server.endpoint(), "GET", "/api/models/org/r/tree/main?recursive=true&a=%2F");
  EXPECT_EQ(answer.headers.at("location"), "http://127.0.0.1:1/api/models/org/r/tree/main?recursive=true&a=%2F");
}

TEST_F(Rules, ComeAsJsonToo) {
  const Rule rule = rule_from_json(
      R"({"method": "GET", "target": "t", "skip": 1, "times": 2, "status": 200, "headers": {"a": "b"}, "body": "x",
    "drop_after": 3, "close_early": true, "ignore_range": true, "slice_with_200": true, "shift_range": 4, "gzip": true, "no_length": true,
    "chunked": true, "claim_length": 5, "flip_byte": 6, "drip_ms": 7, "stall_ms": 8, "redirect": "r"})");
  EXPECT_EQ(rule.method, "GET");
  EXPECT_EQ(rule.target, "t");
  EXPECT_EQ(rule.skip * 10 + rule.times, 12);
  EXPECT_EQ(rule.headers.at(0).second, "b");
  EXPECT_EQ(*rule.status +
                static_cast<int>(*rule.drop_after + *rule.shift_range + *rule.claim_length + *rule.flip_byte) +
                rule.drip_ms + rule.stall_ms,
            233);
  EXPECT_TRUE(rule.close_early && rule.ignore_range && rule.slice_with_200 && rule.gzip && rule.no_length &&
              rule.chunked);
  EXPECT_EQ(*rule.body + rule.redirect, "xr");
  EXPECT_ANY_THROW(rule_from_json(R"({"stat": 200})"));
}

}  // namespace
}  // namespace tilewright::test

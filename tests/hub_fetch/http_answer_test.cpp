// What an answer's headers say about another try.
#include <gtest/gtest.h>

#include "hub/fetch/http_client.h"

namespace tilewright::hub {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

std::optional<seconds> wait_of(std::vector<std::pair<std::string, std::string>> list,
                               system_clock::time_point now = system_clock::from_time_t(1'000'000'000)) {
  HttpHeaders headers;
  for (auto& [name, value] : list) headers.add(name, value);
  return asked_wait(headers, now);
}

TEST(HttpAnswer, HeadersIgnoreCase) {
  HttpHeaders headers;
  headers.add("LINK", "a");
  headers.add("Link", "b");
  EXPECT_EQ(*headers.find("link"), "b");
  EXPECT_EQ(headers.all("link"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(headers.find("lin"), nullptr);
}

TEST(HttpAnswer, WaitsThatServersAskFor) {
  EXPECT_EQ(wait_of({{"ratelimit", "\"api\";r=0;t=55"}}), seconds(55));
  EXPECT_EQ(wait_of({{"RateLimit", "\"api\"; r=0; t=55"}, {"Retry-After", "7"}}), seconds(55));
  EXPECT_EQ(wait_of({{"ratelimit", "\"api\";r=3;t=55"}, {"Retry-After", "7"}}), seconds(7));
  EXPECT_EQ(wait_of({{"ratelimit", "\"api\";r=3;t=55"}}), std::nullopt);
  EXPECT_EQ(wait_of({{"ratelimit", "\"pages\";r=9;t=99, \"api\";r=0;t=5"}}), seconds(5));
  EXPECT_EQ(wait_of({{"Retry-After", " 0 "}}), seconds(0));
  EXPECT_EQ(wait_of({{"Retry-After", "Sun, 09 Sep 2001 01:47:10 GMT"}}), seconds(30));
  EXPECT_EQ(wait_of({{"Retry-After", "Sun, 09 Sep 2001 01:46:00 GMT"}}), seconds(0));
  EXPECT_EQ(wait_of({}), std::nullopt);
  // A date is one of the server's clock, whatever ours says.
  EXPECT_EQ(wait_of({{"Date", "Tue, 01 Jan 2019 00:00:00 GMT"}, {"Retry-After", "Tue, 01 Jan 2019 00:00:03 GMT"}}),
            seconds(3));
  EXPECT_EQ(wait_of({{"Date", "Wed, 01 Jan 1997 00:00:05 GMT"}, {"Retry-After", "Wed, 01 Jan 1997 00:00:03 GMT"}}),
            seconds(0));
  EXPECT_EQ(wait_of({{"Date", "today"}, {"Retry-After", "Sun, 09 Sep 2001 01:47:10 GMT"}}), seconds(30));
}

// No text of a server gives a negative wait or one that overflows.
TEST(HttpAnswer, OddWaitsAreBoundedOrIgnored) {
  for (const char* odd : {"", "-5", "soon", "1e3", "5;", "0x10", ";;;,,,=", "r=0;t=", "r=;t=5", "t=5"}) {
    EXPECT_EQ(wait_of({{"Retry-After", odd}}), std::nullopt) << odd;
    EXPECT_EQ(wait_of({{"ratelimit", odd}}), std::nullopt) << odd;
  }
  const auto huge = wait_of({{"Retry-After", "99999999999999999999999999"}});
  ASSERT_TRUE(huge);
  EXPECT_GT(*huge, seconds(86400));
  EXPECT_LT(*huge, seconds(std::int64_t{1} << 40));
  EXPECT_GT(*wait_of({{"ratelimit", "\"a\";r=0;t=99999999999999999999999999"}}), seconds(86400));
}

TEST(HttpAnswer, WhatMayPassLater) {
  for (const int status : {408, 429, 500, 502, 503, 504}) EXPECT_TRUE(may_pass_later(status));
  for (const int status : {0, 200, 206, 301, 400, 401, 403, 404, 416, 501}) EXPECT_FALSE(may_pass_later(status));
}

}  // namespace
}  // namespace tilewright::hub

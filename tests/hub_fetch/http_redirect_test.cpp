// Redirects that need no server to be judged.
#include "hub/fetch/http_redirect.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilewright::hub {
namespace {

TEST(HttpRedirect, NeverFromHttpsToHttp) {
  EXPECT_EQ(next_hop({"https://hub.test/a"}, "https://cdn.test/b?c"), "https://cdn.test/b?c");
  EXPECT_EQ(next_hop({"http://hub.test/a"}, "https://cdn.test/b"), "https://cdn.test/b");
  EXPECT_EQ(next_hop({"http://hub.test/a"}, "http://cdn.test/b"), "http://cdn.test/b");
  EXPECT_EQ(next_hop({"https://hub.test/a"}, "//cdn.test/b"), "https://cdn.test/b");
  EXPECT_THROW(next_hop({"https://hub.test/a"}, "http://hub.test/a"), Error);
  EXPECT_THROW(next_hop({"https://hub.test/a"}, "HTTP://cdn.test:443/b"), Error);
  EXPECT_THROW(next_hop({"http://hub.test/a", "https://hub.test/a"}, "http://hub.test/b"), Error);
}

TEST(HttpRedirect, CirclesAreNamedWithoutSecrets) {
  try {
    next_hop({"https://hub.test/a?hidden", "https://cdn.test/b?hidden"}, "https://hub.test/a?hidden");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("https://hub.test/a → https://cdn.test/b → https://hub.test/a"), std::string::npos) << text;
    EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
  }
  // Another query is another address: a signature may be made anew.
  EXPECT_EQ(next_hop({"https://hub.test/a?1", "https://cdn.test/b"}, "https://hub.test/a?2"), "https://hub.test/a?2");
}

TEST(HttpRedirect, OnlyOfAnswersThatRedirect) {
  HttpAnswer answer;
  answer.headers.add("Location", "/x");
  for (const int status : {301, 302, 303, 307, 308}) {
    answer.status = status;
    ASSERT_NE(location_of(answer), nullptr);
    EXPECT_EQ(*location_of(answer), "/x");
  }
  for (const int status : {200, 201, 206, 300, 304, 404}) {
    answer.status = status;
    EXPECT_EQ(location_of(answer), nullptr);
  }
}

}  // namespace
}  // namespace tilewright::hub

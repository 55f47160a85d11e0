// Which server an address names, and where redirects lead.
#include "hub/fetch/url.h"

#include <curl/curl.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace tilewright::hub {
namespace {

TEST(Url, OriginIsSchemeHostAndPort) {
  const auto same = [](const char* a, const char* b) { return origin_of(a).value() == origin_of(b).value(); };
  EXPECT_TRUE(same("https://Hub.Example/a?b#c", "HTTPS://hub.example:443"));
  EXPECT_TRUE(same("http://hub.example:80/", "http://hub.example?x"));
  EXPECT_TRUE(same("https://user:pass@hub.example/", "https://hub.example/"));
  EXPECT_TRUE(same("http://[::1]:8080/a", "http://[::1]:8080"));
  EXPECT_FALSE(same("http://hub.example/", "https://hub.example/"));
  EXPECT_FALSE(same("https://hub.example/", "https://hub.example:8443/"));
  EXPECT_FALSE(same("https://hub.example/", "https://hub.example.evil.test/"));
  EXPECT_FALSE(same("https://hub.example/", "https://hub.example@evil.test/"));
  EXPECT_FALSE(same("https://hub.example/", "https://evil.test?@hub.example/"));
  EXPECT_FALSE(same("https://hub.example/", "https://evil.test#@hub.example/"));
}

TEST(Url, WhatIsNoWebAddressHasNoOrigin) {
  for (const char* url :
       {"", "hub.example", "//hub.example", "file:///etc/passwd", "ftp://hub.example/", "https:/hub.example",
        "https://", "https://:443/", "https://hub.example:0/", "https://hub.example:65536/", "https://hub.example:8x/",
        "https://evil.test\\@hub.example/", "https://hub.example\\.evil.test/", "https://hub example/",
        "https://hub.example/\r\nHost: evil", "https://[::1/", "https://a:b:c/", "https://h\xc3\xbc.example/"})
    EXPECT_FALSE(origin_of(url)) << url;
}

// The token's origin is judged here, and libcurl connects: an address that both take must mean the same server to both.
// (libcurl also writes numbers out as IPv4 addresses; such hosts hold no letters.)
TEST(Url, LibcurlSeesTheSameServer) {
  const std::vector<std::string> pieces = {"http",  "https", "://", ":",      "/",   "//", "@",         "?",
                                           "#",     "\\",    ".",   "..",     "hub", "ex", "1",         "8080",
                                           "[::1]", "[",     "]",   "%40",    "%2f", " ",  "user",      "a:b@",
                                           "-",     "_",     "HUB", "://h.x", "\t",  ";",  "localhost", "\xc3\xbc"};
  std::mt19937 random(11);
  int both = 0;
  for (int round = 0; round < 200000; ++round) {
    std::string url = random() % 4 ? (random() % 2 ? "https://" : "http://") : "";
    for (std::size_t i = 1 + random() % 7; i > 0; --i) url += pieces[random() % pieces.size()];
    const auto origin = origin_of(url);
    if (!origin) continue;
    const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
    if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) continue;
    const auto part = [&](CURLUPart which) {
      char* text = nullptr;
      if (curl_url_get(parsed.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return std::string("none");
      const std::string copy = text;
      curl_free(text);
      return copy;
    };
    std::string host = part(CURLUPART_HOST);
    for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (host.find_first_of("abcdefghijklmnopqrstuvwxyz:") == std::string::npos) continue;
    EXPECT_EQ(origin->host, host) << url;
    EXPECT_EQ(std::to_string(origin->port), part(CURLUPART_PORT)) << url;
    EXPECT_EQ(origin->scheme, part(CURLUPART_SCHEME)) << url;
    ++both;
  }
  EXPECT_GT(both, 10000);
}

TEST(Url, LocationsResolve) {
  const std::string base = "https://hub.example:8443/org/name/resolve/main/a.bin?lost=1#f";
  const auto at = [&](const char* location) { return resolve_location(base, location).value_or("nothing"); };
  EXPECT_EQ(at("https://cdn.example/x?a=%2f%2F+b;c"), "https://cdn.example/x?a=%2f%2F+b;c");
  EXPECT_EQ(at("//cdn.example/x"), "https://cdn.example/x");
  EXPECT_EQ(at("/other/file?q=1"), "https://hub.example:8443/other/file?q=1");
  EXPECT_EQ(at("b.bin"), "https://hub.example:8443/org/name/resolve/main/b.bin");
  EXPECT_EQ(at("../x/./b.bin?p=../q"), "https://hub.example:8443/org/name/resolve/x/b.bin?p=../q");
  EXPECT_EQ(at("/../../x"), "https://hub.example:8443/x");
  EXPECT_EQ(at("?again=1"), "https://hub.example:8443/org/name/resolve/main/a.bin?again=1");
  EXPECT_EQ(at(" /a b?c d#fragment "), "https://hub.example:8443/a%20b?c%20d");
  EXPECT_EQ(at("https://user:secret@hub.example:8443/x"), "https://hub.example:8443/x");
  for (const char* bad : {"", "file:///etc/passwd", "ftp://hub.example/", "javascript:alert(1)", "https://", "data:,x",
                          "http:/x", "//evil\\hub.example/", "/a\nb"})
    EXPECT_EQ(at(bad), "nothing") << bad;
}

// The query of a Location is signed: any change makes it worthless.
TEST(Url, QueryOfALocationStaysByteForByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string query;
    for (std::size_t i = random() % 40; i > 0; --i)
      if (const char c = static_cast<char>(0x21 + random() % 94); c != '#') query += c;
    for (const std::string start : {"https://cdn.example/a", "/a", "a/b", "//cdn.example/"}) {
      const auto target = resolve_location("https://hub.example/x?y", start + "?" + query);
      ASSERT_TRUE(target);
      EXPECT_EQ(target->substr(target->find('?') + 1), query);
    }
  }
}

TEST(Url, PercentEncodingComesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decoded(percent_encoded(all, true)), all);
  EXPECT_EQ(percent_decoded(percent_encoded(all, false)), all);
  EXPECT_EQ(percent_encoded("refs/pr/1 ü", false), "refs%2Fpr%2F1%20%C3%BC");
  EXPECT_EQ(percent_encoded("a/b c#?%", true), "a/b%20c%23%3F%25");
  EXPECT_EQ(percent_decoded("100%, %zz %4"), "100%, %zz %4");
}

TEST(Url, ShownWithoutSecrets) {
  EXPECT_EQ(shown_url("https://user:secret@cdn.example/a?Signature=secret#secret"), "https://cdn.example/a");
  for (const char* url : {"https://user:secret@cdn.example:1/x?secret", "user:secret@cdn.example",
                          "https:user:secret@x", "ftp://a:secret@b/", "https://a:secret@b c/"})
    EXPECT_EQ(shown_url(url).find("secret"), std::string::npos) << shown_url(url);
}

}  // namespace
}  // namespace tilewright::hub

// The client against a hub that misbehaves.
#include "hub/fetch/http_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "hub/fetch/url.h"
#include "hub_server/hub_server.h"

namespace tilewright::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HubFile;
using test::HubServer;
using test::Rule;

constexpr const char* kToken = "hf_secretsecret";

class HttpClientTest : public testing::Test {
 protected:
  HttpClientTest() {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"})
      unsetenv(name);
    commit_ =
        server_.serve({.id = "org/name",
                       .files = {{.path = "config.json", .bytes = "{\"a\": 1}"},
                                 {.path = "big.bin", .bytes = {}, .lfs = true, .made_size = std::uint64_t{1} << 20}}});
    settings_.endpoint = server_.endpoint();
    settings_.token = kToken;
    settings_.listing_timeout = settings_.download_timeout = seconds(10);
    options_.retry.first_wait = options_.retry.longest_wait = milliseconds(1);
    options_.waiting = [this](const std::string& text) { waits_ += text + "\n"; };
  }

  // The server under its other name: another origin.
  std::string elsewhere() const {
    std::string url = server_.endpoint();
    return url.replace(url.find("127.0.0.1"), 9, "localhost");
  }
  std::string file(const std::string& name) const {
    return settings_.endpoint + "/org/name/resolve/" + commit_ + "/" + name;
  }
  HttpAnswer get(const std::string& url, std::size_t limit = 1 << 20) {
    return HttpClient(settings_, options_).get(url, limit);
  }
  std::string error_of(const std::string& url, std::size_t limit = 1 << 20) {
    try {
      get(url, limit);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  struct Body {
    HttpClient::BodyEnd end;
    std::string bytes;
    int begun = 0;
  };
  Body body(const std::string& url, std::uint64_t from = 0) {
    Body out;
    HttpClient client(settings_, options_);
    out.end = client.get_body(url, from,
                              {.begin = [&](const HttpAnswer&) { ++out.begun; },
                               .bytes =
                                   [&](std::span<const std::byte> bytes) {
                                     out.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                   }});
    return out;
  }
  // Which of the requests carried the token; all others must have no Authorization at all.
  std::vector<std::string> with_token() const {
    std::vector<std::string> targets;
    for (const auto& request : server_.requests()) {
      const auto header = request.headers.find("authorization");
      if (header == request.headers.end()) continue;
      EXPECT_EQ(header->second, std::string("Bearer ") + kToken);
      targets.push_back(request.headers.at("host") + request.target);
    }
    return targets;
  }

  HubServer server_;
  HubSettings settings_;
  HttpClient::Options options_;
  std::string commit_, waits_;
};

TEST_F(HttpClientTest, GetsAnAnswer) {
  const HttpAnswer answer = get(file("config.json"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"a\": 1}");
  EXPECT_EQ(answer.url, file("config.json"));
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].headers.at("user-agent").rfind("tilewright/", 0), 0u);
  EXPECT_EQ(get(file("nothing.json")).status, 404);
}

TEST_F(HttpClientTest, TokenGoesToTheEndpointsOriginAlone) {
  server_.add_rule({.target = "/start", .redirect = elsewhere() + "/away"});
  server_.add_rule({.target = "/away", .redirect = settings_.endpoint + "/back"});
  server_.add_rule({.target = "/back", .redirect = elsewhere() + "/end"});
  server_.add_rule({.target = "/end", .status = 200, .body = "done"});
  EXPECT_EQ(get(settings_.endpoint + "/start").body, "done");
  const std::string host = settings_.endpoint.substr(7);
  EXPECT_EQ(with_token(), (std::vector<std::string>{host + "/start", host + "/back"}));
  EXPECT_EQ(server_.requests().size(), 4u);
  server_.forget_requests();
  get(elsewhere() + "/org/name/resolve/main/config.json");
  EXPECT_TRUE(with_token().empty());
}

TEST_F(HttpClientTest, LoginOfTheEndpointGoesThereOnly) {
  settings_.login = "me:pass";
  server_.add_rule({.target = "/start", .redirect = elsewhere() + "/end"});
  get(settings_.endpoint + "/start");
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].headers.at("authorization"), "Basic bWU6cGFzcw==");
  EXPECT_EQ(requests[1].headers.count("authorization"), 0u);
}

TEST_F(HttpClientTest, RedirectsKeepTheirQuery) {
  const std::string query = "?Signature=a%2Fb%2fc+d==&Policy=~_-'()*!;:@,$&x";
  for (const int status : {301, 302, 303, 307, 308}) {
    server_.forget_requests();
    server_.add_rule({.target = "/start", .status = status, .redirect = "/end" + query});
    get(settings_.endpoint + "/start?lost=1");
    ASSERT_EQ(server_.requests().size(), 2u);
    EXPECT_EQ(server_.requests()[1].target, "/end" + query);
  }
  // Nor is a signed path tidied.
  server_.add_rule({.target = "/start", .redirect = elsewhere() + "/a/../b//%2e/end"});
  get(settings_.endpoint + "/start");
  EXPECT_EQ(server_.requests().back().target, "/a/../b//%2e/end");
}

TEST_F(HttpClientTest, RedirectsThatAreRefused) {
  const std::string start = settings_.endpoint + "/start?Signature=hidden";
  for (const std::string target :
       {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/", "http://", "data:,x"}) {
    server_.add_rule({.target = "/start", .redirect = target + "?hidden"});
    const std::string error = error_of(start);
    EXPECT_NE(error.find("no http or https address"), std::string::npos) << error;
    EXPECT_EQ(error.find("hidden"), std::string::npos) << error;
  }
  server_.add_rule({.target = "/start", .redirect = "/second?hidden"});
  server_.add_rule({.target = "/second", .redirect = start});
  const std::string circle = error_of(start);
  EXPECT_NE(circle.find("circle"), std::string::npos) << circle;
  EXPECT_NE(circle.find("/second"), std::string::npos) << circle;
  EXPECT_EQ(circle.find("hidden"), std::string::npos) << circle;
}

TEST_F(HttpClientTest, AtMostTenRedirects) {
  for (int i = 0; i < 10; ++i)
    server_.add_rule(
        {.target = "/hop" + std::to_string(i) + "x", .times = -1, .redirect = "/hop" + std::to_string(i + 1) + "x"});
  server_.add_rule({.target = "/hop10x", .status = 200, .body = "end"});
  EXPECT_EQ(get(settings_.endpoint + "/hop0x").body, "end");
  server_.add_rule({.target = "/hop10x", .redirect = "/hop11x"});
  EXPECT_NE(error_of(settings_.endpoint + "/hop0x").find("too many redirects"), std::string::npos);
}

TEST_F(HttpClientTest, TriesAgainWhatMayPass) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    server_.forget_requests();
    server_.add_rule({.target = "config", .times = 4, .status = status});
    EXPECT_EQ(get(file("config.json")).status, 200);
    EXPECT_EQ(server_.requests().size(), 5u);
    server_.forget_requests();
    server_.clear_rules();
    server_.add_rule({.target = "config", .times = -1, .status = status});
    EXPECT_EQ(get(file("config.json")).status, status);
    EXPECT_EQ(server_.requests().size(), 5u);
    server_.clear_rules();
  }
  server_.forget_requests();
  server_.add_rule({.target = "config", .times = 1, .drop_after = 3});
  server_.add_rule({.target = "config", .times = 1, .drop_after = 3, .close_early = true});
  EXPECT_EQ(get(file("config.json")).body, "{\"a\": 1}");
  EXPECT_EQ(server_.requests().size(), 3u);
}

TEST_F(HttpClientTest, UnreachableAfterAllTries) {
  const std::string url = file("config.json");
  server_.stop();
  try {
    get(url);
    FAIL() << "no error";
  } catch (const Unreachable& error) {
    EXPECT_NE(std::string(error.what()).find("no connection to 127.0.0.1"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("(Connection refused) (3 tries)"), std::string::npos) << error.what();
  }
  EXPECT_THROW(get("http://no-such-host.invalid/x"), Unreachable);
}

TEST_F(HttpClientTest, WaitsAsTheServerAsks) {
  server_.add_rule({.target = "config", .status = 429, .headers = {{"ratelimit", "\"api\";r=0;t=0"}}});
  EXPECT_EQ(get(file("config.json")).status, 200);
  EXPECT_EQ(waits_, "the hub asks to wait 0 s (429)\n");
  server_.add_rule({.target = "config", .status = 503, .headers = {{"Retry-After", "100000"}}});
  EXPECT_THROW(get(file("config.json")), Unreachable);
}

TEST_F(HttpClientTest, BackOffDoubles) {
  options_.retry = {.tries = 5, .first_wait = milliseconds(4), .longest_wait = milliseconds(16)};
  HttpClient client(settings_, options_);
  const auto waited = [&](int attempt) {
    const auto begin = std::chrono::steady_clock::now();
    client.wait_before_retry(attempt, nullptr);
    return std::chrono::steady_clock::now() - begin;
  };
  // A sleep may be longer, never shorter.
  EXPECT_GE(waited(1), milliseconds(4));
  EXPECT_GE(waited(2), milliseconds(8));
  EXPECT_GE(waited(3), milliseconds(16));
  EXPECT_GE(waited(60), milliseconds(16));
}

TEST_F(HttpClientTest, HostileAnswersAreBounded) {
  EXPECT_NE(error_of(file("big.bin"), 1000).find("longer than it may be"), std::string::npos);
  server_.add_rule({.target = "big.bin", .no_length = true});
  EXPECT_NE(error_of(file("big.bin"), 1000).find("longer than it may be"), std::string::npos);
  EXPECT_EQ(get(file("big.bin"), 1 << 20).body.size(), std::size_t{1} << 20);
  Rule rule{.target = "config"};
  for (int i = 0; i < 9000; ++i) rule.headers.emplace_back("X-" + std::to_string(i), std::string(100, 'x'));
  server_.add_rule(rule);
  EXPECT_NE(error_of(file("config.json")).find("headers of the answer do not end"), std::string::npos);
  server_.add_rule({.target = "config", .times = -1, .headers = {{"X-Long", std::string(1 << 20, 'x')}}});
  EXPECT_NE(error_of(file("config.json")), "no error");
}

TEST_F(HttpClientTest, UnpacksWhatIsCompressedAskedForOrNot) {
  server_.add_rule({.target = "config", .times = 2, .gzip = true});
  EXPECT_EQ(get(file("config.json")).body, "{\"a\": 1}");
  const Body got = body(file("config.json"));
  EXPECT_EQ(got.bytes, "{\"a\": 1}");
  EXPECT_EQ(*got.end.answer.headers.find("content-encoding"), "gzip");
  EXPECT_EQ(server_.requests().back().headers.at("accept-encoding"), "identity");
}

TEST_F(HttpClientTest, BodiesAndRanges) {
  const std::string whole = body(file("big.bin")).bytes;
  EXPECT_EQ(whole,
            HubServer::bytes_of({.path = "big.bin", .bytes = {}, .lfs = true, .made_size = std::uint64_t{1} << 20}));
  EXPECT_EQ(server_.requests().back().headers.count("range"), 0u);
  const Body rest = body(file("big.bin"), 1000);
  EXPECT_EQ(rest.end.answer.status, 206);
  EXPECT_TRUE(rest.end.complete);
  EXPECT_EQ(rest.bytes, whole.substr(1000));
  EXPECT_EQ(server_.requests().back().headers.at("range"), "bytes=1000-");
  const Body beyond = body(file("big.bin"), std::uint64_t{1} << 20);
  EXPECT_EQ(beyond.end.answer.status, 416);
  EXPECT_EQ(beyond.begun, 0);
  EXPECT_EQ(beyond.bytes, "");
}

TEST_F(HttpClientTest, BodiesComeFromAnotherOriginWithoutTheToken) {
  server_.cdn_for_lfs = true;
  const Body got = body(file("big.bin"));
  EXPECT_TRUE(got.end.complete);
  EXPECT_EQ(got.begun, 1);
  EXPECT_EQ(got.bytes.size(), std::size_t{1} << 20);
  EXPECT_EQ(with_token().size(), 1u);
  EXPECT_EQ(server_.requests().size(), 2u);
}

TEST_F(HttpClientTest, BrokenBodiesSayHow) {
  server_.add_rule({.target = "big.bin", .drop_after = 1000});
  Body got = body(file("big.bin"));
  EXPECT_FALSE(got.end.complete);
  EXPECT_NE(got.end.trouble, "");
  EXPECT_EQ(got.end.answer.status, 200);
  server_.add_rule({.target = "big.bin", .drop_after = 1000, .close_early = true});
  got = body(file("big.bin"));
  EXPECT_EQ(got.end.trouble, "the connection ended early");
  EXPECT_EQ(got.bytes.size(), 1000u);
  server_.stop();
  got = body(file("big.bin"));
  EXPECT_EQ(got.end.answer.status, 0);
  EXPECT_NE(got.end.trouble.find("no connection"), std::string::npos) << got.end.trouble;
}

TEST_F(HttpClientTest, SilenceEndsATransfer) {
  settings_.download_timeout = milliseconds(300);
  server_.add_rule({.target = "big.bin", .drip_ms = 1500});
  EXPECT_EQ(body(file("big.bin")).end.trouble, "no byte for 0.3 s");
  settings_.listing_timeout = milliseconds(300);
  server_.add_rule({.target = "big.bin", .stall_ms = 1500});
  EXPECT_NE(body(file("big.bin")).end.trouble.find("no answer from 127.0.0.1"), std::string::npos);
  // A body that drips goes on as long as it does.
  server_.add_rule({.target = "config", .drip_ms = 100});
  EXPECT_TRUE(body(file("config.json")).end.complete);
}

TEST_F(HttpClientTest, SinksMayGiveUp) {
  HttpClient client(settings_, options_);
  const auto give_up = [] { fail({.what = "enough"}); };
  EXPECT_THROW(client.get_body(file("big.bin"), 0, {.begin = [&](const HttpAnswer&) { give_up(); }, .bytes = {}}),
               Error);
  EXPECT_THROW(
      client.get_body(file("big.bin"), 0, {.begin = [](const HttpAnswer&) {}, .bytes = [&](auto) { give_up(); }}),
      Error);
  EXPECT_EQ(client.get(file("config.json"), 100).status, 200);  // the client is as before
}

TEST_F(HttpClientTest, InterruptionEndsTransfersAndWaits) {
  std::atomic<bool> interrupted{false};
  options_.interrupted = &interrupted;
  server_.add_rule({.target = "big.bin", .stall_ms = 3000, .on_request = [&] { interrupted = true; }});
  EXPECT_THROW(body(file("big.bin")), Interrupted);
  interrupted = false;
  server_.add_rule({.target = "big.bin", .drip_ms = 3000, .on_request = [&] { interrupted = true; }});
  EXPECT_THROW(get(file("big.bin"), 1 << 21), Interrupted);
  interrupted = false;
  options_.retry.first_wait = options_.retry.longest_wait = seconds(3600);
  options_.waiting = [&](const std::string&) { interrupted = true; };
  server_.add_rule({.target = "big.bin", .status = 500});
  EXPECT_THROW(get(file("big.bin")), Interrupted);
}

TEST_F(HttpClientTest, OneConnectionServesManyRequests) {
  HttpClient client(settings_, options_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.get(file("config.json"), 100).status, 200);
  EXPECT_EQ(server_.connections(), 1u);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      HttpClient own(settings_, options_);
      for (int i = 0; i < 10; ++i) right += own.get(file("config.json"), 100).status == 200;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace tilewright::hub

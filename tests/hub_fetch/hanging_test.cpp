// Servers and resolvers that never answer: neither Ctrl-C nor a timeout waits for them.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "hub_fetch/pull_fixture.h"

namespace {

std::atomic<int> resolving = 0;
std::atomic<bool> resolver_answers = false;
constexpr std::string_view kHangingName = "never.test";

}  // namespace

// The system's, except for one name: libcurl finds this one first.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** result) {
  if (name != nullptr && name == kHangingName) {
    ++resolving;
    for (int i = 0; i < 500 && !resolver_answers; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    --resolving;
    return EAI_AGAIN;
  }
  static const auto system = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return system(name, service, hints, result);
}

namespace tilewright::test {
namespace {

class HangingTest : public PullFixture {
 public:
  // Begins a pull from `endpoint` that waits for hours, and interrupts it.
  bool is_interrupted(const std::string& endpoint) {
    hub::HubSettings settings = PullFixture::settings();
    settings.endpoint = endpoint;
    settings.listing_timeout = std::chrono::hours(1);
    bool thrown = false;
    std::thread puller([&] {
      try {
        hub::pull(settings, {.id = "org/model"}, told, options());
      } catch (const hub::Interrupted&) {
        thrown = true;
      } catch (const Error&) {
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    interrupted = true;
    puller.join();
    return thrown;
  }
};

TEST_F(HangingTest, CtrlCEndsAConnectionThatIsNeverTaken) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::vector<int> waiting;  // fill its queue: further ones get no answer at all
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    connect(waiting.back(), reinterpret_cast<sockaddr*>(&address), size);
  }
  EXPECT_TRUE(is_interrupted("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port))));
  for (const int fd : waiting) close(fd);
  close(listener);
}

TEST_F(HangingTest, CtrlCAndTimeoutsDoNotWaitForNames) {
  EXPECT_TRUE(is_interrupted("http://" + std::string(kHangingName)));
  EXPECT_GT(resolving, 0) << "the resolver was waited for";
  interrupted = false;
  hub::HubSettings settings = PullFixture::settings();
  settings.endpoint = "http://" + std::string(kHangingName);
  settings.listing_timeout = std::chrono::milliseconds(50);
  EXPECT_THROW(hub::pull(settings, {.id = "org/model"}, told, options()), hub::Unreachable);
  EXPECT_GT(resolving, 0) << "the resolver was waited for";
  resolver_answers = true;
  while (resolving > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace tilewright::test

#include "hub/fetch/http_exchange.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <system_error>

#include "base/error.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestHeaders = 256 << 10;  // real ones have 2 to 8 KiB
constexpr std::size_t kDroppedBody = 64 << 10;
constexpr int kPollMilliseconds = 100;
constexpr int kReceiveWindow = 2 << 20;  // 160 Mbit/s a connection at 100 ms

// What the callbacks of one exchange share.
struct Running {
  const HttpReader& reader;
  HttpOutcome outcome = {};
  std::exception_ptr thrown = nullptr;
  std::size_t header_bytes = 0, dropped = 0;
  bool sent = false, headers_done = false, wanted = false;
  Clock::time_point sent_at = {}, last_byte = {};
};

void take_header_line(Running& running, std::string_view line) {
  running.header_bytes += line.size();
  if (running.header_bytes > kLongestHeaders)
    fail({.what = "the headers of the answer do not end",
          .where = shown_url(running.outcome.answer.url),
          .expected = fmt::format("at most {} bytes", kLongestHeaders),
          .fix = "check HF_ENDPOINT: this does not look like a hub"});
  if (running.headers_done) return;  // a trailer
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  HttpAnswer& answer = running.outcome.answer;
  if (line.substr(0, 5) == "HTTP/") {
    answer.headers = {};
    answer.status = 0;
    const std::size_t space = line.find(' ');
    for (std::size_t i = space; space != std::string_view::npos && ++i < line.size() && i <= space + 3;)
      if (line[i] >= '0' && line[i] <= '9') answer.status = answer.status * 10 + (line[i] - '0');
  } else if (line.empty()) {
    if (answer.status >= 100 && answer.status < 200) return;  // another answer follows
    running.headers_done = true;
    running.wanted = running.reader.begin(answer);
    running.last_byte = Clock::now();
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos && colon > 0) {
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    answer.headers.add(std::string(line.substr(0, colon)), std::string(value));
  }
}

// Exceptions do not pass through C: kept, and thrown again by `run`.
template <typename Work>
std::size_t guarded(Running& running, std::size_t size, Work work) {
  try {
    return work() ? size : size + 1;  // any other number ends the transfer
  } catch (...) {
    running.thrown = std::current_exception();
    return size + 1;
  }
}

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& running = *static_cast<Running*>(user);
  return guarded(running, size, [&] {
    take_header_line(running, {data, size});
    return true;
  });
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& running = *static_cast<Running*>(user);
  return guarded(running, size, [&] {
    if (!running.wanted) return (running.dropped += size) <= kDroppedBody;
    running.reader.bytes({reinterpret_cast<const std::byte*>(data), size});
    running.last_byte = Clock::now();  // after the reader's work: a slow disk is not the server's fault
    return true;
  });
}

int on_request(void* user, char*, char*, int, int) {
  auto& running = *static_cast<Running*>(user);
  running.sent = true;
  running.sent_at = Clock::now();
  return CURL_PREREQFUNC_OK;
}

// What a server has sent and we have not read is lost if we are killed.
int on_socket(void*, curl_socket_t socket, curlsocktype) {
  const int window = kReceiveWindow;
  setsockopt(socket, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);  // at least it is tried
  return CURL_SOCKOPT_OK;
}

std::string seconds_text(std::chrono::milliseconds time) { return fmt::format("{:g} s", time.count() / 1000.0); }

std::string server_of(const std::string& url) {
  const auto origin = origin_of(url);
  return origin ? fmt::format("{}:{}", origin->host, origin->port) : shown_url(url);
}

// What another try would not change.
void refuse_certificates(CURLcode code, const HttpRequest& request) {
  if (code == CURLE_SSL_CACERT_BADFILE)
    fail({.what = "the certificates of authorities cannot be read",
          .where = request.certificates.string(),
          .fix = "correct or unset CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or SSL_CERT_FILE"});
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR)
    throw Unreachable(
        {.what = "the server's certificate cannot be trusted",
         .where = server_of(request.url),
         .found = curl_easy_strerror(code),
         .fix = "set SSL_CERT_FILE to the certificates of your network's authority, and check the clock"});
}

// `words`: libcurl's own, which name the proxy where it is one that fails.
std::string trouble_of(CURLcode code, const HttpRequest& request, const std::string& words) {
  switch (code) {
    case CURLE_OK:
      return {};
    case CURLE_COULDNT_RESOLVE_HOST:
      return "the name of " + server_of(request.url) + " cannot be resolved";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "the name of the proxy cannot be resolved";
    case CURLE_COULDNT_CONNECT: {
      const auto origin = origin_of(request.url);
      const std::string direct =
          origin ? fmt::format("Failed to connect to {} port {}: ", origin->host, origin->port) : " ";
      const std::string reason = words.starts_with(direct) ? words.substr(direct.size()) : words;
      return "no connection to " + server_of(request.url) + (reason.empty() ? "" : " (" + reason + ")");
    }
    case CURLE_OPERATION_TIMEDOUT:
      return "no connection to " + server_of(request.url) + " in " + seconds_text(request.answer_timeout);
    case CURLE_GOT_NOTHING:
      return "the server closed the connection without an answer";
    case CURLE_PARTIAL_FILE:
      return "the connection ended early";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return "the connection broke";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return "what came is no HTTP answer";
    default:
      return "the transfer failed: " + (words.empty() ? curl_easy_strerror(code) : words);
  }
}

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      fail({.what = "libcurl cannot be initialised", .fix = "check the installation of libcurl and OpenSSL"});
  });
}

// One transfer's handle, in the multi handle (which keeps the connections) as long as this lives. Taken out early, its
// connection is closed.
struct Transfer {
  CURLM* multi;
  CURL* easy = curl_easy_init();
  curl_slist* headers = nullptr;
  char words[CURL_ERROR_SIZE] = {};

  explicit Transfer(CURLM* multi_handle) : multi(multi_handle) {
    if (!easy) throw std::bad_alloc();
  }
  ~Transfer() {
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void prepare(const HttpRequest& request, Running& running) {
    const auto set = [&](CURLoption option, auto value) {
      const CURLcode code = curl_easy_setopt(easy, option, value);
      if (code != CURLE_OK)
        fail({.what = fmt::format("libcurl refuses setting {}: {}", static_cast<int>(option), curl_easy_strerror(code)),
              .where = shown_url(request.url),
              .fix = "install libcurl with OpenSSL"});
    };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // a connection per worker is what is wanted
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // timeouts and interrupts do not wait for a name's resolution
    set(CURLOPT_ERRORBUFFER, static_cast<char*>(words));
    set(CURLOPT_USERAGENT, "tilewright/" TILEWRIGHT_VERSION);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.answer_timeout.count()));
    set(CURLOPT_BUFFERSIZE, 256L << 10);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    // Undone in any case: some servers compress whatever is asked for.
    set(CURLOPT_ACCEPT_ENCODING, request.unpack ? "" : "identity");
    set(CURLOPT_SOCKOPTFUNCTION, &on_socket);
    if (!request.certificates.empty()) {
      std::error_code error;
      set(std::filesystem::is_directory(request.certificates, error) ? CURLOPT_CAPATH : CURLOPT_CAINFO,
          request.certificates.c_str());
    }
    for (const std::string& header : request.headers)
      if (curl_slist* longer = curl_slist_append(headers, header.c_str())) headers = longer;
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&running));
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&running));
    set(CURLOPT_PREREQFUNCTION, &on_request);
    set(CURLOPT_PREREQDATA, static_cast<void*>(&running));
  }

  // libcurl's own words, with the system's reason in place of "Couldn't connect to server".
  std::string connection_words() const {
    long error = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
    const std::string text = words;
    const std::size_t end = text.find(" after ");
    if (error == 0 || end == std::string::npos) return text;
    return text.substr(0, end) + ": " + std::generic_category().message(static_cast<int>(error));
  }

  // The transfer's result, or what made us end it.
  std::string perform(const HttpRequest& request, Running& running, CURLcode& code) {
    curl_multi_add_handle(multi, easy);
    for (;;) {
      int transfers = 0, messages = 0;
      const CURLMcode state = curl_multi_perform(multi, &transfers);
      if (request.interrupted && request.interrupted->load(std::memory_order_relaxed)) throw Interrupted{};
      if (state != CURLM_OK) return std::string("the transfer failed: ") + curl_multi_strerror(state);
      if (const CURLMsg* message = curl_multi_info_read(multi, &messages); message && message->msg == CURLMSG_DONE) {
        code = message->data.result;
        long proxy_status = 0;
        curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
        if (code != CURLE_OK && proxy_status >= 300) return fmt::format("the proxy answered {}", proxy_status);
        return trouble_of(code, request, connection_words());
      }
      const auto now = Clock::now();
      if (running.sent && !running.headers_done && now - running.sent_at > request.answer_timeout)
        return "no answer from " + server_of(request.url) + " in " + seconds_text(request.answer_timeout);
      if (running.headers_done && now - running.last_byte > request.byte_timeout)
        return "no byte for " + seconds_text(request.byte_timeout);
      curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
    }
  }
};

}  // namespace

struct HttpExchange::State {
  CURLM* multi = nullptr;
  ~State() { curl_multi_cleanup(multi); }
};

HttpExchange::HttpExchange() : state_(std::make_unique<State>()) {
  initialise_once();
  state_->multi = curl_multi_init();
  if (!state_->multi) throw std::bad_alloc();
}

HttpExchange::~HttpExchange() = default;

HttpOutcome HttpExchange::run(const HttpRequest& request, const HttpReader& reader) {
  Running running{reader};
  running.outcome.answer.url = request.url;
  CURLcode code = CURLE_OK;
  std::string trouble;
  {
    Transfer transfer(state_->multi);
    transfer.prepare(request, running);
    trouble = transfer.perform(request, running, code);
  }
  if (running.thrown) std::rethrow_exception(running.thrown);
  refuse_certificates(code, request);
  running.outcome.sent = running.sent;
  // The rest of a body that nobody wants is no trouble.
  if (!running.headers_done || running.wanted) running.outcome.trouble = std::move(trouble);
  return std::move(running.outcome);
}

}  // namespace tilewright::hub

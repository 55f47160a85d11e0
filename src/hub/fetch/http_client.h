// HTTP over libcurl: one request at a time per client (each worker has its own), redirects in our own hands, the token
// sent to the endpoint's origin alone, retries with back-off.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hub/fetch/hub_settings.h"
#include "hub/fetch/unreachable.h"
#include "hub/interrupted.h"

namespace tilewright::hub {

// Of one answer; names without regard to case. Hostile lengths and counts are bounded when they are read.
class HttpHeaders {
 public:
  void add(std::string name, std::string value);
  const std::string* find(std::string_view name) const;  // the last one of that name
  std::vector<std::string> all(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

struct HttpAnswer {
  int status = 0;
  HttpHeaders headers;
  std::string body;  // of `get` only
  std::string url;   // whose answer this is, after redirects
};

struct RetryPolicy {
  int tries = 5;          // of one request; a body counts anew after each byte of progress
  int connect_tries = 3;  // of `get` where nobody is there at all: what is on this disk may serve, and soon
  // Doubled from the first to the longest.
  std::chrono::milliseconds first_wait{1000}, longest_wait{8000};
  std::chrono::seconds longest_asked{300};  // what a server may ask us to wait at most; more is an Error
};

class HttpClient {
 public:
  struct Options {
    RetryPolicy retry = {};
    const std::atomic<bool>* interrupted = nullptr;
    // "the hub asks to wait 55 s (429)": called before each wait of a second or more.
    std::function<void(const std::string&)> waiting = {};
  };
  HttpClient(const HubSettings& settings, Options options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // GET with the whole answer in memory (at most `limit` bytes, else Error), whatever its status. Follows redirects (at
  // most 10, never from https to http, query of the Location as it is; else Error). 408, 429, 500, 502, 503, 504 and
  // broken connections are tried again; the last such answer, or Unreachable (a certificate that cannot be trusted is
  // Unreachable at once). Compressed answers are unpacked.
  HttpAnswer get(const std::string& url, std::size_t limit);

  // What a body's reader does. Calls come in this order; `begin` once per answer that carries the body (after
  // redirects), with the answer's headers and status 200 or 206.
  struct Sink {
    // Decides by the headers where these bytes belong; throws Error to give up.
    std::function<void(const HttpAnswer&)> begin;
    std::function<void(std::span<const std::byte>)> bytes;
  };
  // One attempt, no retry: GET from byte `from` on (no Range header if 0), Accept-Encoding: identity. An answer that
  // has a Content-Encoding all the same is unpacked. The return says how it ended; `answer.status` other than 200 and
  // 206 has no body for the sink. Throws what the sink throws, Interrupted; Error and Unreachable where another attempt
  // would not help (redirects, certificates).
  struct BodyEnd {
    HttpAnswer answer;
    bool complete = false;     // the connection ended in order
    std::string trouble = {};  // else: "connection reset", "no byte for 10 s" …
  };
  BodyEnd get_body(const std::string& url, std::uint64_t from, const Sink& sink);

  // Sleeps before another try: the `attempt`th (1 …), or as long as the answer's ratelimit or Retry-After header wants
  // (+1 s). Throws Interrupted; Unreachable if the server wants longer than the policy's longest.
  // `trouble`: why, for the message; empty: the last attempt's own, or the answer's status.
  void wait_before_retry(int attempt, const HttpAnswer* answer, const std::string& trouble = {});

  const RetryPolicy& retry() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether an answer of this status is worth another try.
bool may_pass_later(int status);
// Seconds that an answer asks to wait: `ratelimit: "api";r=0;t=55` (only with r=0) before `Retry-After` (seconds or an
// HTTP date). Nothing if it does not say.
std::optional<std::chrono::seconds> asked_wait(const HttpHeaders& headers, std::chrono::system_clock::time_point now);

}  // namespace tilewright::hub

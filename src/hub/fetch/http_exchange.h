// One request and its answer over libcurl, without redirects and retries: what HttpClient is made of.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hub/fetch/http_client.h"

namespace tilewright::hub {

struct HttpRequest {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "Name: value"
  bool unpack = false;               // offers compression and undoes it
  std::filesystem::path certificates = {};
  std::chrono::milliseconds answer_timeout, byte_timeout;
  const std::atomic<bool>* interrupted = nullptr;
};

struct HttpReader {
  // With status and headers of the answer. False: the body is not wanted; a short one is read and dropped all the same,
  // so that the connection can be used again.
  std::function<bool(const HttpAnswer&)> begin;
  std::function<void(std::span<const std::byte>)> bytes;
};

struct HttpOutcome {
  HttpAnswer answer;         // status 0 if there was none
  std::string trouble = {};  // empty: it ended in order
  bool sent = false;         // the request went out: there was a connection
};

// A connection is used again by the next exchange with the same server.
class HttpExchange {
 public:
  HttpExchange();
  ~HttpExchange();
  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // Throws what the reader throws; Interrupted, at most 200 ms after the flag is set; Unreachable for a certificate
  // that cannot be trusted; Error for headers without end.
  HttpOutcome run(const HttpRequest& request, const HttpReader& reader);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::hub

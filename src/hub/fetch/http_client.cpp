#include "hub/fetch/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/error.h"
#include "hub/fetch/http_exchange.h"
#include "hub/fetch/http_redirect.h"
#include "hub/fetch/url.h"

namespace tilewright::hub {
namespace {

std::string base64(std::string_view text) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > text.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace

struct HttpClient::State {
  HubSettings settings;
  Options options;
  std::optional<Origin> home;
  HttpExchange exchange = {};
  std::string trouble = {};  // of the last attempt

  bool interrupted() const { return options.interrupted && options.interrupted->load(std::memory_order_relaxed); }

  std::vector<std::string> headers_for(const std::string& url, std::uint64_t from) const {
    std::vector<std::string> headers;
    if (from > 0) headers.push_back(fmt::format("Range: bytes={}-", from));
    // Asked anew for each address on the way.
    if (home && origin_of(url) == home) {
      if (!settings.login.empty())
        headers.push_back("Authorization: Basic " + base64(settings.login));
      else if (!settings.token.empty())
        headers.push_back("Authorization: Bearer " + settings.token);
    }
    return headers;
  }

  // Follows redirects; the reader sees the last answer only.
  HttpOutcome follow(const std::string& url, std::uint64_t from, bool identity, const HttpReader& reader) {
    std::vector<std::string> way = {url};
    for (;;) {
      if (interrupted()) throw Interrupted{};
      HttpOutcome outcome =
          exchange.run({.url = way.back(),
                        .headers = headers_for(way.back(), from),
                        .unpack = !identity,
                        .certificates = settings.certificates,
                        .answer_timeout = settings.listing_timeout,
                        .byte_timeout = settings.download_timeout,
                        .interrupted = options.interrupted},
                       {.begin = [&](const HttpAnswer& answer) { return !location_of(answer) && reader.begin(answer); },
                        .bytes = reader.bytes});
      trouble = outcome.trouble;
      const std::string* location = outcome.trouble.empty() ? location_of(outcome.answer) : nullptr;
      if (!location) return outcome;
      way.push_back(next_hop(way, *location));
    }
  }
};

HttpClient::HttpClient(const HubSettings& settings, Options options)
    : state_(new State{settings, std::move(options), origin_of(settings.endpoint)}) {}

HttpClient::~HttpClient() = default;

const RetryPolicy& HttpClient::retry() const { return state_->options.retry; }

HttpAnswer HttpClient::get(const std::string& url, std::size_t limit) {
  const auto too_long = [&](const std::string& found) {
    fail({.what = "the answer is longer than it may be",
          .where = shown_url(url),
          .expected = fmt::format("at most {} bytes", limit),
          .found = found,
          .fix = "check HF_ENDPOINT: this does not look like a hub"});
  };
  for (int attempt = 1;; ++attempt) {
    std::string body;
    HttpOutcome outcome = state_->follow(url, 0, false,
                                         {.begin =
                                              [&](const HttpAnswer& answer) {
                                                std::uint64_t length = 0;
                                                if (const std::string* text = answer.headers.find("content-length")) {
                                                  std::from_chars(text->data(), text->data() + text->size(), length);
                                                  if (length > limit) too_long(*text + " bytes");
                                                }
                                                return true;
                                              },
                                          .bytes =
                                              [&](std::span<const std::byte> bytes) {
                                                if (bytes.size() > limit - body.size()) too_long("more");
                                                body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                                              }});
    const bool broken = !outcome.trouble.empty();
    if (!broken && (!may_pass_later(outcome.answer.status) || attempt >= retry().tries)) {
      outcome.answer.body = std::move(body);
      return std::move(outcome.answer);
    }
    if (broken && attempt >= (outcome.sent ? retry().tries : std::min(retry().tries, retry().connect_tries)))
      throw Unreachable({.what = "the hub cannot be reached",
                         .where = shown_url(url),
                         .found = fmt::format("{} ({} tries)", outcome.trouble, attempt),
                         .fix = "check the network, the proxy (https_proxy) and HF_ENDPOINT"});
    wait_before_retry(attempt, broken ? nullptr : &outcome.answer);
  }
}

HttpClient::BodyEnd HttpClient::get_body(const std::string& url, std::uint64_t from, const Sink& sink) {
  HttpOutcome outcome = state_->follow(url, from, true,
                                       {.begin =
                                            [&](const HttpAnswer& answer) {
                                              if (answer.status != 200 && answer.status != 206) return false;
                                              sink.begin(answer);
                                              return true;
                                            },
                                        .bytes = sink.bytes});
  return {
      .answer = std::move(outcome.answer), .complete = outcome.trouble.empty(), .trouble = std::move(outcome.trouble)};
}

void HttpClient::wait_before_retry(int attempt, const HttpAnswer* answer, const std::string& trouble) {
  using namespace std::chrono;
  const RetryPolicy& policy = retry();
  const std::string status = answer ? fmt::format("{}", answer->status) : "";
  milliseconds wait = policy.first_wait;
  for (int i = 1; i < attempt && wait < policy.longest_wait; ++i) wait *= 2;
  wait = std::min(wait, policy.longest_wait);
  std::string why = !trouble.empty() ? trouble : answer ? "the hub answered " + status : state_->trouble;
  const auto asked = answer ? asked_wait(answer->headers, system_clock::now()) : std::nullopt;
  if (asked) {
    const seconds time = *asked;
    why = fmt::format("the hub asks to wait {} s ({})", time.count(), status);
    if (time > policy.longest_asked)
      throw Unreachable({.what = why,
                         .where = shown_url(answer->url),
                         .expected = fmt::format("at most {} s", policy.longest_asked.count()),
                         .fix = "try again later; a token (HF_TOKEN) raises the limits of the hub"});
    wait = time + seconds(1);
  } else {
    why += fmt::format("; trying again in {:g} s", static_cast<double>(wait.count()) / 1000);
  }
  if (wait >= seconds(1) && state_->options.waiting) state_->options.waiting(why);
  const auto end = steady_clock::now() + wait;
  while (steady_clock::now() < end) {
    if (state_->interrupted()) throw Interrupted{};
    std::this_thread::sleep_for(std::min<steady_clock::duration>(end - steady_clock::now(), milliseconds(50)));
  }
  if (state_->interrupted()) throw Interrupted{};
}

}  // namespace tilewright::hub

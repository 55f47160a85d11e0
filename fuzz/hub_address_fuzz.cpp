// Any bytes as headers and addresses that a hub sends: waits and ranges that make sense or none, addresses that lead
// where libcurl would go, and nothing secret in what messages show. The first byte chooses what the rest is.
#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hub/fetch/download.h"
#include "hub/fetch/http_client.h"
#include "hub/fetch/listing.h"
#include "hub/fetch/url.h"

using namespace tilewright::hub;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// The token goes where `origin_of` says: libcurl must not read the same address as another server's.
void check_origin(const std::string& url) {
  const auto origin = origin_of(url);
  if (!origin) return;
  require(origin->scheme == "http" || origin->scheme == "https");
  require(!origin->host.empty() && origin->port >= 1 && origin->port <= 65535);
  require(origin->host.find_first_of("/?#@\\% ") == std::string::npos);
  CURLU* parsed = curl_url();
  char *host = nullptr, *port = nullptr;
  if (curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
      curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
      curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
    std::string lower = host;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    const bool numeric =
        lower.find_first_not_of("0123456789abcdef.:[]") == std::string::npos;  // other spellings of one
    require(numeric || lower == origin->host);
    require(port == std::to_string(origin->port));
  }
  curl_free(host);
  curl_free(port);
  curl_url_cleanup(parsed);
}

void check_shown(const std::string& url) {
  const std::string shown = shown_url(url);
  require(shown.find_first_of("?#") == std::string::npos);
  if (const UrlLogin parts = without_login(url); origin_of(parts.url))
    require(shown.find('@') == shown.npos || path_of(url).find('@') != std::string::npos);
}

void check_location(const std::string& base, const std::string& location) {
  for (const char c : base)  // an address that was checked before, or the user's own
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '#') return;
  const auto target = resolve_location(base, location);
  if (!target) return;
  require(origin_of(*target).has_value());
  for (const char c : *target)
    require(static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f && c != '#');
  require(without_login(*target).login.empty());
  check_origin(*target);
  check_shown(*target);
  // The query, as it was sent.
  const std::string sent = location.substr(0, location.find('#'));
  const std::size_t query = sent.find('?');
  if (query == std::string::npos) {
    require(target->find('?') == std::string::npos);
  } else {
    const std::string kept = sent.substr(query);
    bool plain = true;
    for (const char c : kept)
      plain = plain && static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f;
    require(!plain || target->ends_with(kept));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4096) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t middle = std::min(text.find('\n'), text.size());
  const std::string first = text.substr(0, middle), second = text.substr(std::min(middle + 1, text.size()));
  switch (data[0] % 4) {
    case 0: {
      HttpHeaders headers;
      headers.add("RateLimit", first);
      headers.add("Retry-After", second);
      if (second.size() % 2 == 0) headers.add("Date", first);
      using namespace std::chrono;
      const auto wait = asked_wait(headers, system_clock::from_time_t(1'000'000'000));
      require(!wait || (wait->count() >= 0 && *wait <= hours(366 * 24)));
      break;
    }
    case 1:
      if (const auto range = parse_content_range(text)) {
        require(range->first.has_value() == range->last.has_value());
        require(!range->first || *range->first <= *range->last);
        require(!range->last || !range->total || *range->last < *range->total);
        require(range->first || range->total);
      }
      if (const auto next = next_page(text)) check_shown(*next);
      break;
    case 2:
      check_location(first, second);
      check_location("https://hub.example:8443/api/x?recursive=true", text);
      break;
    default:
      check_origin(text);
      check_shown(text);
      for (const bool keep_slash : {false, true}) require(percent_decoded(percent_encoded(text, keep_slash)) == text);
      percent_decoded(text);
  }
  return 0;
}

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "hub/fetch/http_client.h"

namespace tilewright::hub {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Digits alone; more than any wait makes sense for is a year.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  constexpr std::int64_t kYear = 365 * 86400;
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min(kYear, value * 10 + (c - '0'));
  }
  return value;
}

// One item of a list: "api";r=0;t=55
std::optional<std::int64_t> parameter(std::string_view item, char name) {
  while (!item.empty()) {
    const std::size_t end = std::min(item.find(';'), item.size());
    const std::string_view part = trimmed(item.substr(0, end));
    if (part.size() > 2 && part[0] == name && part[1] == '=') return seconds_of(trimmed(part.substr(2)));
    item.remove_prefix(std::min(end + 1, item.size()));
  }
  return std::nullopt;
}

std::optional<std::int64_t> rate_limit_wait(std::string_view header) {
  std::optional<std::int64_t> longest;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(','), header.size());
    const std::string_view item = header.substr(0, end);
    const auto wait = parameter(item, 't');
    if (wait && parameter(item, 'r') == 0) longest = std::max(longest.value_or(0), *wait);
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return longest;
}

}  // namespace

void HttpHeaders::add(std::string name, std::string value) { list_.emplace_back(std::move(name), std::move(value)); }

const std::string* HttpHeaders::find(std::string_view name) const {
  for (auto header = list_.rbegin(); header != list_.rend(); ++header)
    if (same_name(header->first, name)) return &header->second;
  return nullptr;
}

std::vector<std::string> HttpHeaders::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : list_)
    if (same_name(key, name)) values.push_back(value);
  return values;
}

bool may_pass_later(int status) {
  constexpr int kPassing[] = {408, 429, 500, 502, 503, 504};
  return std::find(std::begin(kPassing), std::end(kPassing), status) != std::end(kPassing);
}

std::optional<std::chrono::seconds> asked_wait(const HttpHeaders& headers, std::chrono::system_clock::time_point now) {
  std::optional<std::int64_t> limited;
  for (const std::string& header : headers.all("ratelimit"))
    if (const auto wait = rate_limit_wait(header)) limited = std::max(limited.value_or(0), *wait);
  if (limited) return std::chrono::seconds(*limited);

  const std::string* later = headers.find("retry-after");
  if (!later) return std::nullopt;
  if (const auto wait = seconds_of(trimmed(*later))) return std::chrono::seconds(*wait);
  const std::time_t date = curl_getdate(later->c_str(), nullptr);
  if (date < 0) return std::nullopt;
  // By the server's own clock, if it tells: ours may be wrong.
  std::time_t then = std::chrono::system_clock::to_time_t(now);
  if (const std::string* told = headers.find("date"))
    if (const std::time_t time = curl_getdate(told->c_str(), nullptr); time >= 0) then = time;
  const std::int64_t seconds = std::int64_t{date} - std::int64_t{then};
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, std::int64_t{365} * 86400));
}

}  // namespace tilewright::hub
